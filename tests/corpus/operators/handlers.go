package main

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// An operator that works in the handlers of an informer: it cleans up when a Database is deleted and sets up when one is
// added. A relist after both tells it of one update, so what belongs to the old Database stays. The twin compares whose
// it is.
func init() {
	operators["delete-handler"] = func(manager_ ctrl.Manager, fixed bool) error {
		worker := &deleteHandler{client: manager_.GetClient(), live: manager_.GetAPIReader(), cache: manager_.GetCache(), fixed: fixed}
		return manager_.Add(manager.RunnableFunc(worker.start))
	}
}

type deleteHandler struct {
	client client.Client
	live   client.Reader
	cache  ctrlcache.Cache
	fixed  bool
}

func (h *deleteHandler) start(ctx context.Context) error {
	informer, err := h.cache.GetInformer(ctx, newDatabase())
	if err != nil {
		return err
	}
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) { h.added(ctx, object.(*unstructured.Unstructured)) },
		UpdateFunc: func(_, object any) {
			if h.fixed {
				h.added(ctx, object.(*unstructured.Unstructured))
			}
		},
		DeleteFunc: func(object any) {
			if last, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = last.Obj
			}
			h.deleted(ctx, object.(*unstructured.Unstructured))
		},
	})
	<-ctx.Done()
	return err
}

func (h *deleteHandler) added(ctx context.Context, database *unstructured.Unstructured) {
	uid := string(database.GetUID())
	wanted := config(database, database.GetName()+"-registration", map[string]string{"uid": uid, "version": text(database, "spec", "version")})
	if h.fixed {
		now := newDatabase()
		if err := h.live.Get(ctx, client.ObjectKeyFromObject(database), now); err != nil || now.GetUID() != database.GetUID() {
			report(client.IgnoreNotFound(err))
			return
		}
		found := wanted.DeepCopy()
		if err := h.live.Get(ctx, client.ObjectKeyFromObject(wanted), found); err == nil && found.Data["uid"] != uid {
			report(client.IgnoreNotFound(h.client.Delete(ctx, found)))
		}
	}
	report(client.IgnoreAlreadyExists(h.client.Create(ctx, wanted)))
}

func (h *deleteHandler) deleted(ctx context.Context, database *unstructured.Unstructured) {
	registration := config(database, database.GetName()+"-registration", nil)
	if h.fixed {
		err := h.live.Get(ctx, client.ObjectKeyFromObject(registration), registration)
		if err != nil || registration.Data["uid"] != string(database.GetUID()) {
			report(client.IgnoreNotFound(err))
			return
		}
	}
	report(client.IgnoreNotFound(h.client.Delete(ctx, registration)))
}

func report(err error) {
	if err != nil {
		ctrl.Log.Error(err, "not done")
	}
}
