// The Bar/Foo reconciler of examples/bar-foo as an ordinary controller-runtime manager: leader
// election on, metrics and health on their usual ports. -fixed selects the repaired reconciler.
package main

import (
	"context"
	"flag"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

func main() {
	fixed := flag.Bool("fixed", false, "make each Foo under a name that follows from its Bar")
	flag.Parse()
	ctrl.SetLogger(zap.New())
	if err := run(ctrl.SetupSignalHandler(), *fixed); err != nil {
		ctrl.Log.Error(err, "ended")
		os.Exit(1)
	}
}

func run(ctx context.Context, fixed bool) error {
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	addToScheme(scheme)
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                  scheme,
		LeaderElection:          true,
		LeaderElectionID:        "bar-foo.example.trommel.dev",
		LeaderElectionNamespace: "default", // outside a cluster nothing else says where
		HealthProbeBindAddress:  ":8081",
	})
	if err != nil {
		return err
	}
	if err := manager.AddHealthzCheck("healthz", healthz.Ping); err != nil {
		return err
	}
	if err := manager.AddReadyzCheck("readyz", healthz.Ping); err != nil {
		return err
	}
	reconciler := &Reconciler{Client: manager.GetClient(), Live: manager.GetAPIReader(), Fixed: fixed}
	if err := ctrl.NewControllerManagedBy(manager).For(&Bar{}).Complete(reconciler); err != nil {
		return err
	}
	return manager.Start(ctx)
}
