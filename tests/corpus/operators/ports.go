package main

import (
	"context"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const firstPort = 7000

// Each Database gets a port of its own, the lowest that no other has, by the cache: an old one gives a port twice. The
// twin asks the API server which are taken.
func init() {
	operator("ports", reconciler{work: func(ctx context.Context, r *reconciler, database *unstructured.Unstructured) (ctrl.Result, error) {
		ports := &corev1.ConfigMapList{}
		var from client.Reader = r.Client
		if r.fixed {
			from = r.live
		}
		if err := from.List(ctx, ports, client.InNamespace(database.GetNamespace()), client.HasLabels{"app"}); err != nil {
			return ctrl.Result{}, err
		}
		taken := map[string]bool{}
		for i := range ports.Items {
			if ports.Items[i].Labels["app"] == database.GetName() {
				return ctrl.Result{}, nil
			}
			taken[ports.Items[i].Data["port"]] = true
		}
		port := firstPort
		for taken[strconv.Itoa(port)] {
			port++
		}
		return ctrl.Result{}, r.ensure(ctx, config(database, database.GetName()+"-port", map[string]string{"port": strconv.Itoa(port)}))
	}})
}
