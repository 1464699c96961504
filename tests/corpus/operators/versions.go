package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Each version of a Database's schema is migrated to once, by a task of that version; the tasks of others are done and
// removed. An old spec migrates back: its task appears and the live one's is removed. The twin asks the API server which
// version is wanted before it makes or removes one.
func init() {
	operator("migration", reconciler{work: func(ctx context.Context, r *reconciler, database *unstructured.Unstructured) (ctrl.Result, error) {
		database, err := r.newest(ctx, database)
		if database == nil {
			return ctrl.Result{}, err
		}
		task := config(database, database.GetName()+"-migrate-"+text(database, "spec", "version"), nil)
		if err := r.ensure(ctx, task); err != nil {
			return ctrl.Result{}, err
		}
		tasks := &corev1.ConfigMapList{}
		var from client.Reader = r.Client
		if r.fixed {
			from = r.live
		}
		if err := from.List(ctx, tasks, of(database.GetNamespace(), database.GetName())...); err != nil {
			return ctrl.Result{}, err
		}
		for i := range tasks.Items {
			if tasks.Items[i].Name == task.Name {
				continue
			}
			if err := client.IgnoreNotFound(r.Delete(ctx, &tasks.Items[i])); err != nil {
				return ctrl.Result{}, err
			}
		}
		return ctrl.Result{}, nil
	}})

	// The administrator's account is made when the Database is new, by its status: with an old status it is made again, and
	// whoever knew it is locked out. The twin leaves an account alone that is there.
	operator("bootstrap", reconciler{work: func(ctx context.Context, r *reconciler, database *unstructured.Unstructured) (ctrl.Result, error) {
		if text(database, "status", "phase") == "Ready" {
			return ctrl.Result{}, nil
		}
		account := config(database, database.GetName()+"-admin", map[string]string{"generation": "1"})
		err := r.Create(ctx, account)
		if client.IgnoreAlreadyExists(err) != nil {
			return ctrl.Result{}, err
		}
		if err != nil && !r.fixed {
			found := &corev1.ConfigMap{}
			if err := r.live.Get(ctx, client.ObjectKeyFromObject(account), found); err != nil {
				return ctrl.Result{}, err
			}
			found.Data["generation"] += "1"
			if err := r.Update(ctx, found); err != nil {
				return ctrl.Result{}, err
			}
		}
		return ctrl.Result{}, r.setStatus(ctx, database, "Ready", "phase")
	}})
}
