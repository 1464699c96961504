package main

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Reconciler makes one Foo for each Bar.
type Reconciler struct {
	client.Client
	// Live reads from the server; the embedded Client reads from the cache.
	Live client.Reader
	// Fixed selects adoptOrCreate.
	Fixed bool
}

// Reconcile brings one Bar to where its status names its Foo.
//
// As written, the server chooses the Foo's name, and until the status is updated nothing knows it: a
// controller that is killed between the two writes makes a second Foo when it is started again.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var bar Bar
	if err := r.Get(ctx, request.NamespacedName, &bar); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if bar.Status.ObjRef != nil {
		return ctrl.Result{}, nil
	}

	foo := &Foo{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: bar.Namespace,
			OwnerReferences: []metav1.OwnerReference{
				*metav1.NewControllerRef(&bar, groupVersion.WithKind("Bar")),
			},
		},
		Spec: FooSpec{Text: bar.Spec.Text},
	}
	if err := r.create(ctx, &bar, foo); err != nil {
		return ctrl.Result{}, err
	}
	ctrl.LoggerFrom(ctx).Info("made a Foo", "foo", foo.Name)

	marked := bar.DeepCopyObject().(*Bar)
	marked.Status.ObjRef = &ObjRef{Name: foo.Name}
	return ctrl.Result{}, r.Status().Update(ctx, marked)
}

// create makes foo for bar and leaves in foo what the server has.
func (r *Reconciler) create(ctx context.Context, bar *Bar, foo *Foo) error {
	if !r.Fixed {
		foo.GenerateName = "foo-"
		return r.Create(ctx, foo)
	}
	// Fixed: the name follows from the Bar. If it is taken by a Foo of this very Bar, an earlier
	// incarnation made it, and it is adopted.
	foo.Name = "foo-" + bar.Name
	err := r.Create(ctx, foo)
	if !errors.IsAlreadyExists(err) {
		return err
	}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(foo), foo); err != nil {
		return err
	}
	if !metav1.IsControlledBy(foo, bar) {
		return fmt.Errorf("foo %s belongs to somebody else", foo.Name)
	}
	return nil
}
