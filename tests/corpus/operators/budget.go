package main

import (
	"context"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A disruption budget that differs from the spec is deleted and made anew: by an old spec a right one goes, and pods are
// without protection meanwhile (casskop#321). The twin changes it in place, by what the API server says.
func init() {
	operator("budget", reconciler{work: func(ctx context.Context, r *reconciler, database *unstructured.Unstructured) (ctrl.Result, error) {
		wanted := budget(database)
		found := &policyv1.PodDisruptionBudget{}
		err := r.Get(ctx, client.ObjectKeyFromObject(wanted), found)
		if errors.IsNotFound(err) && r.fixed {
			// If there is one after all, the cache does not have it yet: tried again.
			return ctrl.Result{}, r.Create(ctx, wanted)
		}
		if errors.IsNotFound(err) {
			return ctrl.Result{}, r.ensure(ctx, wanted)
		}
		if err != nil || found.Spec.MaxUnavailable.IntValue() == wanted.Spec.MaxUnavailable.IntValue() {
			return ctrl.Result{}, err
		}
		if r.fixed {
			found.Spec.MaxUnavailable = wanted.Spec.MaxUnavailable
			return ctrl.Result{}, r.Update(ctx, found)
		}
		if err := client.IgnoreNotFound(r.Delete(ctx, found)); err != nil {
			return ctrl.Result{}, err
		}
		return ctrl.Result{}, r.ensure(ctx, wanted)
	}}, &policyv1.PodDisruptionBudget{})
}

func budget(database *unstructured.Unstructured) *policyv1.PodDisruptionBudget {
	unavailable := intstr.FromInt32(int32(number(database, "spec", "maxUnavailable")))
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: meta(database, database.GetName())}
	budget.OwnerReferences = owner(database)
	budget.Spec.MaxUnavailable = &unavailable
	budget.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": database.GetName()}}
	return budget
}
