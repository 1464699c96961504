package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const firstPort = 7000

func (r *reconciler) givePort(ctx context.Context, database *unstructured.Unstructured) error {
	if r.fixed {
		return r.reservePort(ctx, database)
	}
	all := &unstructured.UnstructuredList{}
	all.SetGroupVersionKind(databaseKind)
	if err := r.List(ctx, all, client.InNamespace(database.GetNamespace())); err != nil {
		return err
	}
	taken := map[int64]bool{}
	for i := range all.Items {
		taken[number(&all.Items[i], "status", "port")] = true
	}
	port := int64(firstPort)
	for taken[port] {
		port++
	}
	return r.setStatus(ctx, database, port, "port")
}

func (r *reconciler) reservePort(ctx context.Context, database *unstructured.Unstructured) error {
	for port := int64(firstPort); ; port++ {
		mark := config(database, fmt.Sprintf("port-%d", port), map[string]string{"by": database.GetName()})
		err := r.Create(ctx, mark)
		if errors.IsAlreadyExists(err) {
			found := &corev1.ConfigMap{}
			if err := r.live.Get(ctx, client.ObjectKeyFromObject(mark), found); err != nil {
				return err
			}
			if found.Data["by"] != database.GetName() {
				continue
			}
		} else if err != nil {
			return err
		}
		return r.setStatus(ctx, database, port, "port")
	}
}
