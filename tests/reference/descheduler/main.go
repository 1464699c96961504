// The descheduler of the release named in go.mod, unchanged.
package main

import (
	"os"

	"k8s.io/component-base/cli"
	"sigs.k8s.io/descheduler/cmd/descheduler/app"
)

func main() { os.Exit(cli.Run(app.NewDeschedulerCommand(os.Stdout))) }
