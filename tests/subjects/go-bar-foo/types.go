package main

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The CRDs are those of examples/bar-foo/crds.
var groupVersion = schema.GroupVersion{Group: "example.trommel.dev", Version: "v1"}

func addToScheme(scheme *runtime.Scheme) {
	scheme.AddKnownTypes(groupVersion, &Bar{}, &BarList{}, &Foo{}, &FooList{})
	metav1.AddToGroupVersion(scheme, groupVersion)
}

// Bar is what the user asks for.
type Bar struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              BarSpec   `json:"spec"`
	Status            BarStatus `json:"status,omitempty"`
}

// BarSpec says what the Foo is to hold.
type BarSpec struct {
	Text string `json:"text"`
}

// BarStatus names the Foo that was made.
type BarStatus struct {
	ObjRef *ObjRef `json:"objRef,omitempty"`
}

// ObjRef is an object of the same namespace.
type ObjRef struct {
	Name string `json:"name"`
}

// BarList is a list of Bars.
type BarList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Bar `json:"items"`
}

// Foo is made for a Bar.
type Foo struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              FooSpec `json:"spec"`
}

// FooSpec holds the Bar's text.
type FooSpec struct {
	Text string `json:"text"`
}

// FooList is a list of Foos.
type FooList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Foo `json:"items"`
}

// DeepCopyObject copies a Bar.
func (bar *Bar) DeepCopyObject() runtime.Object {
	copied := *bar
	bar.ObjectMeta.DeepCopyInto(&copied.ObjectMeta)
	if bar.Status.ObjRef != nil {
		ref := *bar.Status.ObjRef
		copied.Status.ObjRef = &ref
	}
	return &copied
}

// DeepCopyObject copies a list of Bars.
func (list *BarList) DeepCopyObject() runtime.Object {
	copied := BarList{TypeMeta: list.TypeMeta, ListMeta: *list.ListMeta.DeepCopy()}
	for i := range list.Items {
		copied.Items = append(copied.Items, *list.Items[i].DeepCopyObject().(*Bar))
	}
	return &copied
}

// DeepCopyObject copies a Foo.
func (foo *Foo) DeepCopyObject() runtime.Object {
	copied := *foo
	foo.ObjectMeta.DeepCopyInto(&copied.ObjectMeta)
	return &copied
}

// DeepCopyObject copies a list of Foos.
func (list *FooList) DeepCopyObject() runtime.Object {
	copied := FooList{TypeMeta: list.TypeMeta, ListMeta: *list.ListMeta.DeepCopy()}
	for i := range list.Items {
		copied.Items = append(copied.Items, *list.Items[i].DeepCopyObject().(*Foo))
	}
	return &copied
}
