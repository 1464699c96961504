package main

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The label that the second of the three caches selects by.
const selected = "keep=yes"

var widgets = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}

// A mirror tells what caches hold: all of it when it is asked to, by a line on stdin, and from then on
// whenever something changed.
type mirror struct {
	mutex sync.Mutex
	asked bool
	// What the cache of each name holds: name of the object → its revision and its value.
	caches map[string]func() map[string]string
}

func (m *mirror) tell() {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if !m.asked {
		return
	}
	held := map[string]map[string]string{}
	for name, read := range m.caches {
		held[name] = read()
	}
	if err := json.NewEncoder(os.Stdout).Encode(held); err != nil {
		fail(err)
	}
}

func (m *mirror) untilTold(ctx context.Context) {
	if bufio.NewScanner(os.Stdin).Scan() {
		m.mutex.Lock()
		m.asked = true
		m.mutex.Unlock()
		m.tell()
	}
	<-ctx.Done()
}

func (m *mirror) handler() toolscache.ResourceEventHandler {
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { m.tell() },
		UpdateFunc: func(any, any) { m.tell() },
		DeleteFunc: func(any) { m.tell() },
	}
}

func configMap(object *corev1.ConfigMap) string {
	return object.ResourceVersion + " " + object.Data["value"]
}

func widget(object *unstructured.Unstructured) string {
	value, _, _ := unstructured.NestedString(object.Object, "spec", "value")
	return object.GetResourceVersion() + " " + value
}

// mirrored keeps client-go's shared informers: typed, with a selector, and dynamic.
func mirrored(ctx context.Context, config *rest.Config) error {
	typed, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	untyped, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	m := &mirror{caches: map[string]func() map[string]string{}}
	all := informers.NewSharedInformerFactory(typed, 0)
	some := informers.NewSharedInformerFactoryWithOptions(typed, 0, informers.WithTweakListOptions(
		func(options *metav1.ListOptions) { options.LabelSelector = selected }))
	custom := dynamicinformer.NewDynamicSharedInformerFactory(untyped, 0)
	for name, informer := range map[string]toolscache.SharedIndexInformer{
		"configmaps": all.Core().V1().ConfigMaps().Informer(),
		"selected":   some.Core().V1().ConfigMaps().Informer(),
		"widgets":    custom.ForResource(widgets).Informer(),
	} {
		if _, err := informer.AddEventHandler(m.handler()); err != nil {
			return err
		}
		m.caches[name] = func() map[string]string {
			held := map[string]string{}
			for _, object := range informer.GetStore().List() {
				switch object := object.(type) {
				case *corev1.ConfigMap:
					held[object.Name] = configMap(object)
				case *unstructured.Unstructured:
					held[object.GetName()] = widget(object)
				}
			}
			return held
		}
	}
	all.Start(ctx.Done())
	some.Start(ctx.Done())
	custom.Start(ctx.Done())
	m.untilTold(ctx)
	return nil
}

// cached keeps controller-runtime's caches, and reads them as a reconciler does.
func cached(ctx context.Context, config *rest.Config) error {
	all, err := ctrlcache.New(config, ctrlcache.Options{})
	if err != nil {
		return err
	}
	selector, err := labels.Parse(selected)
	if err != nil {
		return err
	}
	some, err := ctrlcache.New(config, ctrlcache.Options{DefaultLabelSelector: selector})
	if err != nil {
		return err
	}
	go start(ctx, all)
	go start(ctx, some)
	kind := &unstructured.Unstructured{}
	kind.SetGroupVersionKind(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"})
	m := &mirror{caches: map[string]func() map[string]string{
		"configmaps": func() map[string]string { return configMapsOf(ctx, all) },
		"selected":   func() map[string]string { return configMapsOf(ctx, some) },
		"widgets":    func() map[string]string { return widgetsOf(ctx, all) },
	}}
	for _, watched := range []struct {
		cache  ctrlcache.Cache
		object client.Object
	}{{all, &corev1.ConfigMap{}}, {some, &corev1.ConfigMap{}}, {all, kind}} {
		informer, err := watched.cache.GetInformer(ctx, watched.object)
		if err != nil {
			return err
		}
		if _, err := informer.AddEventHandler(m.handler()); err != nil {
			return err
		}
	}
	m.untilTold(ctx)
	return nil
}

func start(ctx context.Context, cache ctrlcache.Cache) {
	if err := cache.Start(ctx); err != nil {
		fail(err)
	}
}

func configMapsOf(ctx context.Context, cache ctrlcache.Cache) map[string]string {
	var list corev1.ConfigMapList
	if err := cache.List(ctx, &list); err != nil {
		fail(err)
	}
	held := map[string]string{}
	for _, object := range list.Items {
		held[object.Name] = configMap(&object)
	}
	return held
}

func widgetsOf(ctx context.Context, cache ctrlcache.Cache) map[string]string {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "WidgetList"})
	if err := cache.List(ctx, list); err != nil {
		fail(err)
	}
	held := map[string]string{}
	for _, object := range list.Items {
		held[object.GetName()] = widget(&object)
	}
	return held
}
