package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Operators that do two things of which the second depends on the first having just been done.
func init() {
	// Both keystores are made where the first is missing: after a crash between them the second is never made (K8SSAND-1023).
	// The twin looks for each.
	operator("keystores", reconciler{work: func(ctx context.Context, r *reconciler, database *unstructured.Unstructured) (ctrl.Result, error) {
		authority := secret(database, database.GetName()+"-ca-keystore")
		err := r.live.Get(ctx, client.ObjectKeyFromObject(authority), &corev1.Secret{})
		if err != nil && !errors.IsNotFound(err) {
			return ctrl.Result{}, err
		}
		if err == nil && !r.fixed {
			return ctrl.Result{}, nil
		}
		if err := r.ensure(ctx, authority); err != nil {
			return ctrl.Result{}, err
		}
		return ctrl.Result{}, r.ensure(ctx, secret(database, database.GetName()+"-node-keystore"))
	}})

	// A member is marked as starting before it is started: after a crash between, everybody waits for it (K8SSAND-1362). The
	// twin starts it again, which is no harm.
	operator("starting-mark", reconciler{work: func(ctx context.Context, r *reconciler, database *unstructured.Unstructured) (ctrl.Result, error) {
		switch text(database, "status", "phase") {
		case "":
			if err := r.setStatus(ctx, database, "Starting", "phase"); err != nil {
				return ctrl.Result{}, err
			}
			return ctrl.Result{}, r.ensure(ctx, config(database, database.GetName()+"-start-command", nil))
		case "Starting":
			if r.fixed {
				if err := r.ensure(ctx, config(database, database.GetName()+"-start-command", nil)); err != nil {
					return ctrl.Result{}, err
				}
			}
			err := r.live.Get(ctx, client.ObjectKey{Namespace: database.GetNamespace(), Name: database.GetName() + "-start-command"}, &corev1.ConfigMap{})
			if err != nil {
				return ctrl.Result{}, client.IgnoreNotFound(err)
			}
			return ctrl.Result{}, r.setStatus(ctx, database, "Ready", "phase")
		}
		return ctrl.Result{}, nil
	}}, &corev1.ConfigMap{})

	// The configuration is written, then it is noted that members must be started anew: after a crash between nothing
	// differs any more, and they never are (nifikop#49). The twin compares what members run with with what is written.
	operator("config-then-note", reconciler{work: func(ctx context.Context, r *reconciler, database *unstructured.Unstructured) (ctrl.Result, error) {
		version := text(database, "spec", "version")
		wanted := config(database, database.GetName()+"-config", map[string]string{"version": version})
		found := &corev1.ConfigMap{}
		err := r.live.Get(ctx, client.ObjectKeyFromObject(wanted), found)
		switch {
		case errors.IsNotFound(err):
			if err := r.ensure(ctx, wanted); err != nil {
				return ctrl.Result{}, err
			}
		case err != nil:
			return ctrl.Result{}, err
		case found.Data["version"] != version:
			found.Data["version"] = version
			if err := r.Update(ctx, found); err != nil {
				return ctrl.Result{}, err
			}
		case !r.fixed:
			return ctrl.Result{}, nil
		}
		if text(database, "status", "seen") == version {
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, r.setStatus(ctx, database, version, "seen")
	}})

	// A member is removed, then the size is noted: after a crash between, the member that is gone is looked for, and nothing
	// goes on (casskop#370). To the twin a member that is gone is removed.
	operator("remove-then-note", reconciler{work: func(ctx context.Context, r *reconciler, database *unstructured.Unstructured) (ctrl.Result, error) {
		database, err := r.newest(ctx, database)
		if database == nil {
			return ctrl.Result{}, err
		}
		wanted, have := number(database, "spec", "replicas"), number(database, "status", "replicas")
		switch {
		case have < wanted:
			if err := r.ensure(ctx, member(database, have)); err != nil {
				return ctrl.Result{}, err
			}
			return ctrl.Result{}, r.setStatus(ctx, database, have+1, "replicas")
		case have > wanted:
			err := r.Delete(ctx, member(database, have-1))
			if errors.IsNotFound(err) && !r.fixed {
				return ctrl.Result{}, nil
			}
			if client.IgnoreNotFound(err) != nil {
				return ctrl.Result{}, err
			}
			return ctrl.Result{}, r.setStatus(ctx, database, have-1, "replicas")
		}
		return ctrl.Result{}, nil
	}})

	// The status is written in two steps of which the second is left out once the first is there: after a crash between, it
	// stays half (nifikop#79). The twin writes both as long as one is missing.
	operator("half-status", reconciler{work: func(ctx context.Context, r *reconciler, database *unstructured.Unstructured) (ctrl.Result, error) {
		phase, message := text(database, "status", "phase"), text(database, "status", "message")
		if phase == "Configured" && (!r.fixed || message != "") {
			return ctrl.Result{}, nil
		}
		if phase == "" {
			if err := r.setStatus(ctx, database, "Configured", "phase"); err != nil {
				return ctrl.Result{}, err
			}
		}
		return ctrl.Result{}, r.setStatus(ctx, database, "all members have it", "message")
	}})
}

func member(database *unstructured.Unstructured, n int64) *corev1.ConfigMap {
	return config(database, database.GetName()+"-"+string(rune('0'+n)), nil)
}
