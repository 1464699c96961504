package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Secrets are marked with the Database that they belong to, by name, and collected when there is none: a cache that does
// not have the Database yet is taken for its end (cloud-on-k8s#5249). The twin asks the API server before it deletes.
func init() {
	r := reconciler{
		work: func(ctx context.Context, r *reconciler, database *unstructured.Unstructured) (ctrl.Result, error) {
			return ctrl.Result{}, r.ensure(ctx, secret(database, database.GetName()+"-transport-certs"))
		},
		gone: func(ctx context.Context, r *reconciler, key client.ObjectKey) error {
			if r.fixed {
				if err := r.live.Get(ctx, key, newDatabase()); !errors.IsNotFound(err) {
					return err
				}
			}
			secrets := &corev1.SecretList{}
			if err := r.List(ctx, secrets, of(key.Namespace, key.Name)...); err != nil {
				return err
			}
			for i := range secrets.Items {
				if err := client.IgnoreNotFound(r.Delete(ctx, &secrets.Items[i])); err != nil {
					return err
				}
			}
			return nil
		},
	}
	operators["soft-owned"] = func(manager ctrl.Manager, fixed bool) error {
		r := r
		r.Client, r.live, r.fixed = manager.GetClient(), manager.GetAPIReader(), fixed
		toDatabase := func(_ context.Context, object client.Object) []reconcile.Request {
			name := object.GetLabels()["app"]
			if name == "" {
				return nil
			}
			return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: object.GetNamespace(), Name: name}}}
		}
		return ctrl.NewControllerManagedBy(manager).Named("soft-owned").For(newDatabase()).
			Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(toDatabase)).Complete(&r)
	}
}
