// Installs the CRDs of a folder, or brings them up to date, on the server of KUBECONFIG.
package main

import (
	"log"
	"os"

	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

func main() {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		log.Fatal(err)
	}
	options := envtest.CRDInstallOptions{Paths: os.Args[1:], ErrorIfPathMissing: true}
	if _, err := envtest.InstallCRDs(config, options); err != nil {
		log.Fatal(err)
	}
}
