package suite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

// What all tests share.
var (
	environment *envtest.Environment
	admin       *rest.Config
)

func TestMain(m *testing.M) {
	log.SetLogger(zap.New())
	environment = &envtest.Environment{
		CRDDirectoryPaths:     []string{"crds"},
		ErrorIfCRDPathMissing: true,
		WebhookInstallOptions: envtest.WebhookInstallOptions{Paths: []string{"webhooks"}},
	}
	var err error
	if admin, err = environment.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "start:", err)
		os.Exit(1)
	}
	code := m.Run()
	if err := environment.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, "stop:", err)
		code = 1
	}
	os.Exit(code)
}

// A test that hangs fails, and says where.
func limited(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func clientOf(t *testing.T, config *rest.Config) client.WithWatch {
	t.Helper()
	c, err := client.NewWithWatch(config, client.Options{})
	must(t, err)
	return c
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A new namespace for a test.
func namespace(t *testing.T, name string, labels map[string]string) string {
	t.Helper()
	object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	must(t, clientOf(t, admin).Create(limited(t), object))
	return name
}

func gauge(namespace, name string, level int64) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1",
		"kind":       "Gauge",
		"metadata":   map[string]any{"namespace": namespace, "name": name},
		"spec":       map[string]any{"level": level},
	}}
}

func gauges() *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion("example.com/v1")
	list.SetKind("GaugeList")
	return list
}

// Waits, by watching, until an object is as wanted.
func until(ctx context.Context, c client.WithWatch, list client.ObjectList, namespace string, wanted func(client.Object) bool) error {
	events, err := c.Watch(ctx, list, client.InNamespace(namespace))
	if err != nil {
		return err
	}
	defer events.Stop()
	for event := range events.ResultChan() {
		if object, ok := event.Object.(client.Object); ok && event.Type != watch.Deleted && wanted(object) {
			return nil
		}
	}
	return errors.New("the watch ended before anything was as wanted")
}
