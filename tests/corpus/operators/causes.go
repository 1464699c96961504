package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Operators whose bugs show in ways that are easily taken for one another.
func init() {
	// Two bugs, one symptom: the part is missing. It is noted before it is made, so that a crash between leaves it out for
	// ever; and an old spec, which does not ask for it, deletes it, and the note keeps it from being made again. The twin
	// reads the spec afresh, and makes the part whenever it is asked for.
	operator("optional-part", reconciler{work: func(ctx context.Context, r *reconciler, database *unstructured.Unstructured) (ctrl.Result, error) {
		database, err := r.newest(ctx, database)
		if database == nil {
			return ctrl.Result{}, err
		}
		part := config(database, database.GetName()+"-part", nil)
		noted := text(database, "status", "phase") == "WithPart"
		switch {
		case !flagOf(database, "spec", "ui"):
			return ctrl.Result{}, client.IgnoreNotFound(r.Delete(ctx, part))
		case noted && !r.fixed:
			return ctrl.Result{}, nil
		case !noted:
			if err := r.setStatus(ctx, database, "WithPart", "phase"); err != nil {
				return ctrl.Result{}, err
			}
		}
		return ctrl.Result{}, r.ensure(ctx, part)
	}})

	// An old spec brings back the old version for a while. The twin reads the spec afresh.
	operator("rolls-back", reconciler{work: func(ctx context.Context, r *reconciler, database *unstructured.Unstructured) (ctrl.Result, error) {
		database, err := r.newest(ctx, database)
		if database == nil {
			return ctrl.Result{}, err
		}
		version := text(database, "spec", "version")
		wanted := config(database, database.GetName()+"-image", map[string]string{"version": version})
		found := &corev1.ConfigMap{}
		err = r.live.Get(ctx, client.ObjectKeyFromObject(wanted), found)
		if errors.IsNotFound(err) {
			return ctrl.Result{}, r.ensure(ctx, wanted)
		}
		if err != nil || found.Data["version"] == version {
			return ctrl.Result{}, err
		}
		found.Data["version"] = version
		return ctrl.Result{}, r.Update(ctx, found)
	}})
}
