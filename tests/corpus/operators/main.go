// Operators with a bug each that real ones had (the families of Sieve's list), and their repaired twins. Which operator
// runs is said by the first argument; -fixed selects the twin. They know nothing of what tests them.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"sort"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metrics "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// setup adds an operator to a manager.
type setup func(ctrl.Manager, bool) error

// operators by name.
var operators = map[string]setup{}

var databaseKind = schema.GroupVersionKind{Group: "corpus.trommel.dev", Version: "v1", Kind: "Database"}

func newDatabase() *unstructured.Unstructured {
	database := &unstructured.Unstructured{}
	database.SetGroupVersionKind(databaseKind)
	return database
}

func main() {
	fixed := flag.Bool("fixed", false, "run the repaired twin")
	elect := flag.Bool("elect", false, "wait to be the leader, with other replicas")
	flag.Parse()
	ctrl.SetLogger(zap.New())
	set, known := operators[flag.Arg(0)]
	if !known {
		names := []string{}
		for name := range operators {
			names = append(names, name)
		}
		sort.Strings(names)
		fmt.Fprintf(os.Stderr, "usage: operators [-fixed] [-elect] OPERATOR, one of %s\n", strings.Join(names, ", "))
		os.Exit(2)
	}
	if err := run(ctrl.SetupSignalHandler(), set, *fixed, *elect); err != nil {
		ctrl.Log.Error(err, "ended")
		os.Exit(1)
	}
}

func run(ctx context.Context, set setup, fixed, elect bool) error {
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, policyv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:  scheme,
		Metrics: metrics.Options{BindAddress: "0"},

		LeaderElection:          elect,
		LeaderElectionID:        "operators.corpus.trommel.dev",
		LeaderElectionNamespace: "default",
		// As with typed objects.
		Client: client.Options{Cache: &client.CacheOptions{Unstructured: true}},
	})
	if err != nil {
		return err
	}
	if err := set(manager, fixed); err != nil {
		return err
	}
	return manager.Start(ctx)
}
