#!/usr/bin/env python3
"""What became of each test, from the reports in a folder: a line each, `passed`, `failed` or `skipped`, a tab, a name.

Reads reports of Ginkgo (`*.ginkgo.json`), of `go test -json` (`*.gotest.json`) and of pytest (`*.junit.xml`).
"""

import json
import pathlib
import sys
import xml.etree.ElementTree


def ginkgo(path):
    """A spec's name is the names of what it stands in. A suite that broke outside of its specs is a spec named so."""
    for suite in json.loads(path.read_text()):
        for spec in suite["SpecReports"] or []:
            kind, state = spec["LeafNodeType"], spec["State"]
            if kind != "It":
                if state in ("passed", "skipped"):
                    continue
                yield "failed", f"{suite['SuiteDescription']}: {kind}"
                continue
            words = [*(spec["ContainerHierarchyTexts"] or []), spec["LeafNodeText"]]
            became = {"passed": "passed", "skipped": "skipped", "pending": "skipped"}.get(state, "failed")
            yield became, " ".join([f"{suite['SuiteDescription']}:", *words])


def gotest(path):
    """A test with subtests says nothing of its own, nor does one that runs specs, nor a package that has tests."""
    became = {"pass": "passed", "fail": "failed", "skip": "skipped"}
    ended, runs_others = {}, {"package"}
    for line in path.read_text().splitlines():
        event = json.loads(line)
        name = event.get("Test", "package")
        if event["Action"] in became:
            ended[name] = became[event["Action"]]
            runs_others.add(name.rpartition("/")[0])
        elif event.get("Output", "").startswith("Running Suite:"):
            runs_others.add(name)
    if list(ended.items()) == [("package", "failed")]:
        runs_others.clear()  # it did not build
    for name, state in ended.items():
        if name not in runs_others:
            yield state, f"{path.name.split('.')[0]}: {name}"


def junit(path):
    for case in xml.etree.ElementTree.parse(path).iter("testcase"):
        inside = {child.tag for child in case}
        state = "failed" if inside & {"failure", "error"} else "skipped" if "skipped" in inside else "passed"
        yield state, f"{case.get('classname')}.{case.get('name')}"


READERS = {".ginkgo.json": ginkgo, ".gotest.json": gotest, ".junit.xml": junit}


def main():
    reports = pathlib.Path(sys.argv[1]).iterdir()
    for path in sorted(reports):
        for ending, read in READERS.items():
            if path.name.endswith(ending):
                for state, name in read(path):
                    print(state, " ".join(name.split()), sep="\t")


main()
