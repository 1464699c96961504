package main

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The CRD is ../crds/database.yaml.
var groupVersion = schema.GroupVersion{Group: "example.trommel.dev", Version: "v1"}

func addToScheme(scheme *runtime.Scheme) {
	scheme.AddKnownTypes(groupVersion, &Database{}, &DatabaseList{})
	metav1.AddToGroupVersion(scheme, groupVersion)
}

// Database is what the user asks for.
type Database struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              DatabaseSpec   `json:"spec"`
	Status            DatabaseStatus `json:"status,omitempty"`
}

// DatabaseSpec says how large it is.
type DatabaseSpec struct {
	Replicas int32 `json:"replicas"`
	// Storage is what each replica gets.
	Storage string `json:"storage"`
}

// DatabaseStatus says how far it is.
type DatabaseStatus struct {
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	ReadyReplicas      int32 `json:"readyReplicas,omitempty"`
	// Phase is Starting, Filling or Ready.
	Phase string `json:"phase,omitempty"`
}

// DatabaseList is a list of Databases.
type DatabaseList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Database `json:"items"`
}

// DeepCopyObject copies a Database.
func (database *Database) DeepCopyObject() runtime.Object {
	copied := *database
	database.ObjectMeta.DeepCopyInto(&copied.ObjectMeta)
	return &copied
}

// DeepCopyObject copies a list of Databases.
func (list *DatabaseList) DeepCopyObject() runtime.Object {
	copied := DatabaseList{TypeMeta: list.TypeMeta, ListMeta: *list.ListMeta.DeepCopy()}
	for i := range list.Items {
		copied.Items = append(copied.Items, *list.Items[i].DeepCopyObject().(*Database))
	}
	return &copied
}
