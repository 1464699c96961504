// The judge's descheduler: upstream's program, built from its module.
package main

import (
	"os"

	"k8s.io/component-base/cli"
	"sigs.k8s.io/descheduler/cmd/descheduler/app"
	"sigs.k8s.io/descheduler/pkg/descheduler"
)

func main() {
	descheduler.SetupPlugins()
	os.Exit(cli.Run(app.NewDeschedulerCommand(os.Stdout)))
}
