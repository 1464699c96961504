package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Operators that depend on having seen a state that does not last.
func init() {
	// A member that is drained gets its data removed while the drain is on; if that is never seen, the data stays
	// (cassandra-operator#398). The twin keeps the data of those members only that the spec still has.
	operator("drain", reconciler{work: func(ctx context.Context, r *reconciler, database *unstructured.Unstructured) (ctrl.Result, error) {
		wanted := int(number(database, "spec", "replicas"))
		for n := 0; n < wanted; n++ {
			if err := r.ensure(ctx, config(database, fmt.Sprintf("data-%d", n), nil)); err != nil {
				return ctrl.Result{}, err
			}
		}
		drained := text(database, "spec", "drain")
		if r.fixed {
			drained = fmt.Sprintf("data-%d", wanted)
		}
		if drained == "" {
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, client.IgnoreNotFound(r.Delete(ctx, config(database, drained, nil)))
	}})

	// A Database shrinks by one member at a time; a larger step is taken for a mistake and refused. If the state between is
	// never seen, a right change is refused for ever (casskop#342). The twin takes the steps by itself.
	operator("one-at-a-time", reconciler{work: func(ctx context.Context, r *reconciler, database *unstructured.Unstructured) (ctrl.Result, error) {
		wanted, have := number(database, "spec", "replicas"), number(database, "status", "replicas")
		if have > wanted+1 && !r.fixed {
			ctrl.Log.Info("refused: more than one member at a time", "have", have, "wanted", wanted)
			return ctrl.Result{}, nil
		}
		if have == wanted {
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, r.setStatus(ctx, database, wanted, "replicas")
	}})

	// Storage grows with the members and never shrinks: the peak is noted when it is seen. One that is not seen leaves too
	// little (yugabyte-operator#39). In the twin the storage follows from the members that there are.
	operator("peak", reconciler{work: func(ctx context.Context, r *reconciler, database *unstructured.Unstructured) (ctrl.Result, error) {
		replicas := number(database, "spec", "replicas")
		if peak := number(database, "status", "peak"); peak >= replicas && !r.fixed || peak == replicas {
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, r.setStatus(ctx, database, replicas, "peak")
	}})

	// A pause makes a snapshot, which the next start needs; a pause that is not seen makes none. The twin makes the snapshot
	// of a version when it starts that version.
	operator("snapshot-at-pause", reconciler{work: func(ctx context.Context, r *reconciler, database *unstructured.Unstructured) (ctrl.Result, error) {
		snapshot := config(database, database.GetName()+"-snapshot", nil)
		if r.fixed || flagOf(database, "spec", "paused") {
			return ctrl.Result{}, r.ensure(ctx, snapshot)
		}
		return ctrl.Result{}, nil
	}})

	// A failover is asked for by a marker that is removed again; each that is seen moves the leader. The twin moves the
	// leader by a number that only grows.
	operator("failover-marker", reconciler{work: func(ctx context.Context, r *reconciler, database *unstructured.Unstructured) (ctrl.Result, error) {
		leader := config(database, database.GetName()+"-leader", map[string]string{"member": "0"})
		if err := r.ensure(ctx, leader); err != nil {
			return ctrl.Result{}, err
		}
		member := text(database, "spec", "drain")
		if r.fixed {
			member = text(database, "spec", "version")
		}
		found := &corev1.ConfigMap{}
		if err := r.live.Get(ctx, client.ObjectKeyFromObject(leader), found); err != nil {
			return ctrl.Result{}, err
		}
		if member == "" || found.Data["member"] == member {
			return ctrl.Result{}, nil
		}
		found.Data["member"] = member
		return ctrl.Result{}, r.Update(ctx, found)
	}})
}
