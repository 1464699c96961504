package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// What holds a Database's data is deleted when the Database is. It is found by label, so that of a Database of the same
// name that was made since is deleted too (cass-operator#412, casskop#316, cassandra-operator#402; claims there, here
// ConfigMaps that stand for them). The twin asks the API server first, and looks
// at whose the data is.
func init() {
	operator("data-by-label", reconciler{work: func(ctx context.Context, r *reconciler, database *unstructured.Unstructured) (ctrl.Result, error) {
		database, err := r.newest(ctx, database)
		if database == nil {
			return ctrl.Result{}, err
		}
		if database.GetDeletionTimestamp() != nil {
			return ctrl.Result{}, r.dropData(ctx, database)
		}
		if controllerutil.AddFinalizer(database, finalizer) {
			if err := r.Update(ctx, database); err != nil {
				return ctrl.Result{}, err
			}
		}
		return ctrl.Result{}, r.ensure(ctx, claim(database))
	}})
}

const ofDatabase = "corpus.trommel.dev/database-uid"

func claim(database *unstructured.Unstructured) *corev1.ConfigMap {
	claim := config(database, "data-"+database.GetName()+"-0", nil)
	claim.Annotations = map[string]string{ofDatabase: string(database.GetUID())}
	return claim
}

func (r *reconciler) dropData(ctx context.Context, database *unstructured.Unstructured) error {
	claims := &corev1.ConfigMapList{}
	var from client.Reader = r.Client
	if r.fixed {
		from = r.live
	}
	if err := from.List(ctx, claims, of(database.GetNamespace(), database.GetName())...); err != nil {
		return err
	}
	for i := range claims.Items {
		claim := &claims.Items[i]
		if r.fixed && claim.Annotations[ofDatabase] != string(database.GetUID()) {
			continue
		}
		if err := client.IgnoreNotFound(r.Delete(ctx, claim)); err != nil {
			return err
		}
	}
	if controllerutil.RemoveFinalizer(database, finalizer) {
		return client.IgnoreNotFound(r.Update(ctx, database))
	}
	return nil
}
