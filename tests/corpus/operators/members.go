package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Members get names from the API server, as many as the cache does not have: with an old cache too many are made, and
// nobody takes them away. The twin gives them names that follow from their numbers.
func init() {
	operator("surplus-members", reconciler{work: func(ctx context.Context, r *reconciler, database *unstructured.Unstructured) (ctrl.Result, error) {
		members := &corev1.ConfigMapList{}
		if err := r.List(ctx, members, of(database.GetNamespace(), database.GetName())...); err != nil {
			return ctrl.Result{}, err
		}
		wanted := int(number(database, "spec", "replicas"))
		if r.fixed {
			for n := 0; n < wanted; n++ {
				if err := r.ensure(ctx, config(database, fmt.Sprintf("%s-%d", database.GetName(), n), nil)); err != nil {
					return ctrl.Result{}, err
				}
			}
			return ctrl.Result{}, nil
		}
		for n := len(members.Items); n < wanted; n++ {
			member := config(database, "", nil)
			member.GenerateName, member.OwnerReferences = database.GetName()+"-", owner(database)
			if err := r.Create(ctx, member); err != nil {
				return ctrl.Result{}, err
			}
		}
		return ctrl.Result{}, nil
	}})

	// Members that are more than the spec wants are taken away with what they hold: by an old count live ones are
	// (cloud-on-k8s#5274). The twin reads the count afresh before it takes any away.
	operator("scale-down", reconciler{work: func(ctx context.Context, r *reconciler, database *unstructured.Unstructured) (ctrl.Result, error) {
		wanted := int(number(database, "spec", "replicas"))
		for n := 0; n < wanted; n++ {
			if err := r.ensure(ctx, config(database, fmt.Sprintf("%s-%d", database.GetName(), n), nil)); err != nil {
				return ctrl.Result{}, err
			}
		}
		members := &corev1.ConfigMapList{}
		if err := r.List(ctx, members, of(database.GetNamespace(), database.GetName())...); err != nil {
			return ctrl.Result{}, err
		}
		if r.fixed && len(members.Items) > wanted {
			live := newDatabase()
			if err := r.live.Get(ctx, client.ObjectKeyFromObject(database), live); err != nil {
				return ctrl.Result{}, client.IgnoreNotFound(err)
			}
			wanted = int(number(live, "spec", "replicas"))
		}
		for i := range members.Items {
			var n int
			if _, err := fmt.Sscanf(members.Items[i].Name, database.GetName()+"-%d", &n); err != nil || n < wanted {
				continue
			}
			if err := client.IgnoreNotFound(r.Delete(ctx, &members.Items[i])); err != nil {
				return ctrl.Result{}, err
			}
		}
		return ctrl.Result{}, nil
	}})
}
