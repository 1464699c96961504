package main

import (
	"context"

	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// With TLS on a Secret with the certificate is there, with TLS off it is removed: an old spec removes the live one
// (yugabyte-operator#35). The same with a Service for the user interface (#36). The twins read the spec afresh before they
// delete.
func init() {
	operator("tls-toggle", reconciler{work: toggled("tls", func(database *unstructured.Unstructured) client.Object {
		return secret(database, database.GetName()+"-tls")
	})})
	operator("ui-toggle", reconciler{work: toggled("ui", func(database *unstructured.Unstructured) client.Object {
		return config(database, database.GetName()+"-ui", map[string]string{"port": "9000"})
	})})
}

func toggled(field string, child func(*unstructured.Unstructured) client.Object) func(context.Context, *reconciler, *unstructured.Unstructured) (ctrl.Result, error) {
	return func(ctx context.Context, r *reconciler, database *unstructured.Unstructured) (ctrl.Result, error) {
		if flagOf(database, "spec", field) {
			return ctrl.Result{}, r.ensure(ctx, child(database))
		}
		if r.fixed {
			live := newDatabase()
			err := r.live.Get(ctx, client.ObjectKeyFromObject(database), live)
			if errors.IsNotFound(err) || (err == nil && flagOf(live, "spec", field)) {
				return ctrl.Result{}, nil
			}
			if err != nil {
				return ctrl.Result{}, err
			}
		}
		return ctrl.Result{}, client.IgnoreNotFound(r.Delete(ctx, child(database)))
	}
}
