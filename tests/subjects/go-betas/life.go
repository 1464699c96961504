package main

import (
	"fmt"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
)

const namespace = "default"

var epoch = time.Unix(1577836800, 0)

// live takes an object through its life, with the requests that typed clients make.
func (k kind) live() error {
	seen, err := k.watch()
	if err != nil {
		return fmt.Errorf("watch: %v", err)
	}
	defer seen.Stop()
	created := k.fresh()
	if err := k.at(k.client.Post()).Body(k.object).Do().Into(created); err != nil {
		return fmt.Errorf("create: %v", err)
	}
	if err := k.looksRight(created); err != nil {
		return fmt.Errorf("what create answers: %v", err)
	}
	if err := k.sees(seen, watch.Added); err != nil {
		return err
	}
	read := k.fresh()
	if err := k.at(k.client.Get()).Name(k.object.GetName()).Do().Into(read); err != nil {
		return fmt.Errorf("get: %v", err)
	}
	if err := k.looksRight(read); err != nil {
		return fmt.Errorf("what get answers: %v", err)
	}
	if err := k.listed(); err != nil {
		return fmt.Errorf("list: %v", err)
	}
	if err := k.changed(read, seen); err != nil {
		return err
	}
	if err := k.at(k.client.Delete()).Name(k.object.GetName()).Do().Error(); err != nil {
		return fmt.Errorf("delete: %v", err)
	}
	return k.sees(seen, watch.Deleted)
}

// changed updates and patches.
func (k kind) changed(read object, seen watch.Interface) error {
	read.SetLabels(map[string]string{"by": "update"})
	updated := k.fresh()
	name := k.object.GetName()
	if err := k.at(k.client.Put()).Name(name).Body(read).Do().Into(updated); err != nil {
		return fmt.Errorf("update: %v", err)
	}
	if err := k.looksRight(updated); err != nil {
		return fmt.Errorf("what update answers: %v", err)
	}
	if err := k.sees(seen, watch.Modified); err != nil {
		return err
	}
	patched := k.fresh()
	patch := []byte(`{"metadata": {"labels": {"also": "patch"}}}`)
	request := k.at(k.client.Patch(types.StrategicMergePatchType)).Name(name).Body(patch)
	if err := request.Do().Into(patched); err != nil {
		return fmt.Errorf("patch: %v", err)
	}
	if labels := patched.GetLabels(); labels["by"] != "update" || labels["also"] != "patch" {
		return fmt.Errorf("patch: the labels are %v", labels)
	}
	return k.sees(seen, watch.Modified)
}

func (k kind) at(request *rest.Request) *rest.Request {
	return request.NamespaceIfScoped(namespace, !k.clustered).Resource(k.resource)
}

// fresh is a zero object of the type.
func (k kind) fresh() object {
	return reflect.New(reflect.TypeOf(k.object).Elem()).Interface().(object)
}

func (k kind) looksRight(read runtime.Object) error {
	if k.looks == nil {
		return nil
	}
	return k.looks(read)
}

func (k kind) watch() (watch.Interface, error) {
	// By hand: no codec of parameters knows the types of both clients.
	selector := "metadata.name=" + k.object.GetName()
	return k.at(k.client.Get()).Param("watch", "true").Param("fieldSelector", selector).Watch()
}

func (k kind) sees(seen watch.Interface, expected watch.EventType) error {
	event, open := <-seen.ResultChan()
	// A definition changes once more before it is gone: its objects go first.
	for open && expected == watch.Deleted && event.Type == watch.Modified {
		event, open = <-seen.ResultChan()
	}
	if !open || event.Type != expected {
		return fmt.Errorf("watch: %v where %s was expected", event, expected)
	}
	read, typed := event.Object.(object)
	if !typed || read.GetName() != k.object.GetName() {
		return fmt.Errorf("watch: %T of another name or type", event.Object)
	}
	return k.looksRight(read)
}

func (k kind) listed() error {
	answer, err := k.at(k.client.Get()).Do().Get()
	if err != nil {
		return err
	}
	items, err := meta.ExtractList(answer)
	if err != nil {
		return err
	}
	for _, item := range items {
		if item.(object).GetName() == k.object.GetName() {
			return k.looksRight(item)
		}
	}
	return fmt.Errorf("%s is not among %d", k.object.GetName(), len(items))
}
