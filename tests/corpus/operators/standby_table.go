package main

import (
	"context"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// table of the ports that are taken, in memory.
type table struct {
	lock  sync.Mutex
	taken map[string]bool
}

// load reads which ports are taken.
func (t *table) load(ctx context.Context, live client.Reader) error {
	ports := &corev1.ConfigMapList{}
	if err := live.List(ctx, ports, client.InNamespace("default"), client.HasLabels{"app"}); err != nil {
		return err
	}
	t.lock.Lock()
	defer t.lock.Unlock()
	t.taken = map[string]bool{}
	for i := range ports.Items {
		t.taken[ports.Items[i].Data["port"]] = true
	}
	return nil
}

// take gives the lowest port that is free.
func (t *table) take() string {
	t.lock.Lock()
	defer t.lock.Unlock()
	port := firstPort
	for t.taken[strconv.Itoa(port)] {
		port++
	}
	t.taken[strconv.Itoa(port)] = true
	return strconv.Itoa(port)
}

// Each Database gets a port of its own, by a table in memory that is read when the process starts. A replica that waits
// to lead has read it long before it leads: it gives ports again that the leader before it gave. The twin reads the table
// when it begins to lead.
func init() {
	operators["standby-table"] = func(manager ctrl.Manager, fixed bool) error {
		ports := &table{}
		if !fixed {
			if err := ports.load(context.Background(), manager.GetAPIReader()); err != nil {
				return err
			}
		}
		r := &reconciler{Client: manager.GetClient(), live: manager.GetAPIReader(), fixed: fixed}
		r.work = func(ctx context.Context, r *reconciler, database *unstructured.Unstructured) (ctrl.Result, error) {
			port := &corev1.ConfigMap{}
			key := client.ObjectKey{Namespace: database.GetNamespace(), Name: database.GetName() + "-port"}
			err := r.live.Get(ctx, key, port)
			if err == nil || client.IgnoreNotFound(err) != nil {
				return ctrl.Result{}, err
			}
			if fixed && ports.taken == nil {
				if err := ports.load(ctx, r.live); err != nil {
					return ctrl.Result{}, err
				}
			}
			return ctrl.Result{}, r.ensure(ctx, config(database, key.Name, map[string]string{"port": ports.take()}))
		}
		return ctrl.NewControllerManagedBy(manager).Named("standby-table").For(newDatabase()).Complete(r)
	}
}
