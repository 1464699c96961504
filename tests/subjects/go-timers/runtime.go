package main

import (
	"context"
	"errors"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// requeue wants to be called again five minutes after each call.
func requeue(ctx context.Context, config *rest.Config) error {
	return manage(ctx, config, func(context.Context, ctrl.Request) (ctrl.Result, error) {
		say("reconcile")
		return ctrl.Result{RequeueAfter: 5 * time.Minute}, nil
	})
}

// backOff fails for ever: the work queue doubles the pause from 5 ms to 1000 s.
func backOff(ctx context.Context, config *rest.Config) error {
	return manage(ctx, config, func(context.Context, ctrl.Request) (ctrl.Result, error) {
		say("reconcile")
		return ctrl.Result{}, errors.New("it never works")
	})
}

func manage(ctx context.Context, config *rest.Config, reconciler reconcile.Func) error {
	ctrl.SetLogger(logr.Discard())
	manager, err := ctrl.NewManager(config, ctrl.Options{})
	if err != nil {
		return err
	}
	if err := ctrl.NewControllerManagedBy(manager).Named("timers").For(&corev1.ConfigMap{}).Complete(reconciler); err != nil {
		return err
	}
	return manager.Start(ctx)
}
