package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Operators that are wrong on their way, not at its end: what their users ask for stands in property files.
func init() {
	// Two shards get another version while the Database says that it is migrating; members refuse to work meanwhile. Whoever
	// finds that mark after a crash takes it off before it goes on, so for a while members work on shards that differ. The
	// twin goes on first. All is right in the end.
	operator("half-marked", reconciler{work: func(ctx context.Context, r *reconciler, database *unstructured.Unstructured) (ctrl.Result, error) {
		database, shards, err := r.databaseAndShards(ctx, database)
		if database == nil || err != nil {
			return ctrl.Result{}, err
		}
		migrating := text(database, "status", "phase") == "Migrating"
		if !migrating && upToDate(database, shards) {
			return ctrl.Result{}, nil
		}
		mark := "Migrating"
		if migrating && !r.fixed {
			mark = "Ready"
		}
		if err := r.setStatus(ctx, database, mark, "phase"); err != nil {
			return ctrl.Result{}, err
		}
		for i := range shards {
			shards[i].Data["version"] = text(database, "spec", "version")
			if err := r.Update(ctx, &shards[i]); err != nil {
				return ctrl.Result{}, err
			}
		}
		if mark == "Ready" {
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, r.setStatus(ctx, database, "Ready", "phase")
	}})

	// A member is claimed, then the Database is ready. A claim that is there before is taken for that of somebody else, who is
	// asked for it, and asked not to hurry, and asked, and never answers. The twin knows its own claim.
	operator("own-claim", reconciler{work: func(ctx context.Context, r *reconciler, database *unstructured.Unstructured) (ctrl.Result, error) {
		live := newDatabase()
		if err := r.live.Get(ctx, client.ObjectKeyFromObject(database), live); err != nil {
			return ctrl.Result{}, client.IgnoreNotFound(err)
		}
		if text(live, "status", "phase") == "Ready" {
			return ctrl.Result{}, nil
		}
		claim := config(live, live.GetName()+"-claim", map[string]string{"state": "claimed"})
		claim.OwnerReferences = owner(live)
		err := r.Create(ctx, claim)
		if errors.IsAlreadyExists(err) && !r.fixed {
			return ctrl.Result{}, r.ask(ctx, claim)
		}
		if ignoreExists(err) != nil {
			return ctrl.Result{}, err
		}
		return ctrl.Result{}, r.setStatus(ctx, live, "Ready", "phase")
	}}, &corev1.ConfigMap{})
}

// databaseAndShards reads a Database and its two shards past the cache, and makes the shards that are missing. Nil where
// the Database is gone.
func (r *reconciler) databaseAndShards(ctx context.Context, database *unstructured.Unstructured) (*unstructured.Unstructured, []corev1.ConfigMap, error) {
	live := newDatabase()
	if err := r.live.Get(ctx, client.ObjectKeyFromObject(database), live); err != nil {
		return nil, nil, client.IgnoreNotFound(err)
	}
	shards := make([]corev1.ConfigMap, 2)
	for i, name := range []string{"-a", "-b"} {
		version := map[string]string{"version": text(live, "spec", "version")}
		shard := config(live, live.GetName()+name, version)
		if err := r.ensure(ctx, shard); err != nil {
			return nil, nil, err
		}
		if err := r.live.Get(ctx, client.ObjectKeyFromObject(shard), &shards[i]); err != nil {
			return nil, nil, err
		}
	}
	return live, shards, nil
}

func upToDate(database *unstructured.Unstructured, shards []corev1.ConfigMap) bool {
	for i := range shards {
		if shards[i].Data["version"] != text(database, "spec", "version") {
			return false
		}
	}
	return true
}

// ask turns a claim over.
func (r *reconciler) ask(ctx context.Context, claim *corev1.ConfigMap) error {
	found := &corev1.ConfigMap{}
	if err := r.live.Get(ctx, client.ObjectKeyFromObject(claim), found); err != nil {
		return err
	}
	if found.Data["state"] == "asked" {
		found.Data["state"] = "no hurry"
	} else {
		found.Data["state"] = "asked"
	}
	return r.Update(ctx, found)
}
