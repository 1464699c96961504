package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// finalizer of those operators that clean up behind a Database.
const finalizer = "corpus.trommel.dev/cleanup"

// reconciler calls a function for each Database.
type reconciler struct {
	client.Client
	// live reads past the cache.
	live  client.Reader
	fixed bool
	work  func(context.Context, *reconciler, *unstructured.Unstructured) (ctrl.Result, error)
	// gone is called where there is no such Database.
	gone func(context.Context, *reconciler, client.ObjectKey) error
}

func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (ctrl.Result, error) {
	database := newDatabase()
	err := r.Get(ctx, request.NamespacedName, database)
	if errors.IsNotFound(err) {
		if r.gone == nil {
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, r.gone(ctx, r, request.NamespacedName)
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	return r.work(ctx, r, database)
}

// operator registers a reconciler of Databases under a name. Databases that change, and objects of these types that they
// own, bring it to work.
func operator(name string, r reconciler, owned ...client.Object) {
	operators[name] = func(manager ctrl.Manager, fixed bool) error {
		r := r
		r.Client, r.live, r.fixed = manager.GetClient(), manager.GetAPIReader(), fixed
		builder := ctrl.NewControllerManagedBy(manager).Named(name).For(newDatabase())
		for _, object := range owned {
			builder = builder.Owns(object)
		}
		return builder.Complete(&r)
	}
}

// newest is the Database as the twin reads it: past the cache. Nil where it is gone, or can't be read.
func (r *reconciler) newest(ctx context.Context, database *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if !r.fixed {
		return database, nil
	}
	live := newDatabase()
	if err := r.live.Get(ctx, client.ObjectKeyFromObject(database), live); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return live, nil
}

// number is a field of the spec or status; 0 if it is not there.
func number(object *unstructured.Unstructured, path ...string) int64 {
	value, _, _ := unstructured.NestedInt64(object.Object, path...)
	return value
}

func text(object *unstructured.Unstructured, path ...string) string {
	value, _, _ := unstructured.NestedString(object.Object, path...)
	return value
}

func flagOf(object *unstructured.Unstructured, path ...string) bool {
	value, _, _ := unstructured.NestedBool(object.Object, path...)
	return value
}

// setStatus writes one field of the status.
func (r *reconciler) setStatus(ctx context.Context, database *unstructured.Unstructured, value any, field string) error {
	if err := unstructured.SetNestedField(database.Object, value, "status", field); err != nil {
		return err
	}
	return r.Status().Update(ctx, database)
}

// ensure creates an object unless there is one of its name.
func (r *reconciler) ensure(ctx context.Context, object client.Object) error {
	return ignoreExists(r.Create(ctx, object))
}

func ignoreExists(err error) error {
	if errors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// owner is the reference by which a child's life ends with its Database's.
func owner(database *unstructured.Unstructured) []metav1.OwnerReference {
	yes := true
	return []metav1.OwnerReference{{
		APIVersion: databaseKind.GroupVersion().String(), Kind: databaseKind.Kind,
		Name: database.GetName(), UID: database.GetUID(), Controller: &yes,
	}}
}

// meta of a child; `app` is the Database that it belongs to.
func meta(database *unstructured.Unstructured, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: name, Namespace: database.GetNamespace(),
		Labels: map[string]string{"app": database.GetName()},
	}
}

func config(database *unstructured.Unstructured, name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: meta(database, name), Data: data}
}

func secret(database *unstructured.Unstructured, name string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: meta(database, name), StringData: map[string]string{"owner": database.GetName()}}
}

// of selects the children of a Database by their label.
func of(namespace, name string) []client.ListOption {
	return []client.ListOption{client.InNamespace(namespace), client.MatchingLabels{"app": name}}
}
