package suite

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// Shows the level of each gauge in a ConfigMap of the same name, and in its status.
type reconciler struct{ client.Client }

func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	found := gauge("", "", 0)
	if err := r.Get(ctx, request.NamespacedName, found); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	level, _, _ := unstructured.NestedInt64(found.Object, "spec", "level")
	unit, _, _ := unstructured.NestedString(found.Object, "spec", "unit")
	shown := fmt.Sprintf("%d %s", level, unit)
	configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: request.Namespace, Name: request.Name}}
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, configMap, func() error {
		configMap.Data = map[string]string{"shown": shown}
		return controllerutil.SetControllerReference(found, configMap, r.Scheme())
	})
	if err != nil {
		return ctrl.Result{}, err
	}
	if err := unstructured.SetNestedField(found.Object, shown, "status", "shown"); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, r.Status().Update(ctx, found)
}

// Denies what is about to overflow.
func validate(_ context.Context, request admission.Request) admission.Response {
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(request.Object.Raw); err != nil {
		return admission.Errored(400, err)
	}
	if level, _, _ := unstructured.NestedInt64(object.Object, "spec", "level"); level > 90 {
		return admission.Denied("it would overflow for " + request.UserInfo.Username)
	}
	return admission.Allowed("")
}

// A manager at work until the test ends.
func manage(t *testing.T) {
	t.Helper()
	install := environment.WebhookInstallOptions
	manager, err := ctrl.NewManager(admin, ctrl.Options{
		Metrics: metricsserver.Options{BindAddress: "0"},
		WebhookServer: webhook.NewServer(webhook.Options{
			Host: install.LocalServingHost, Port: install.LocalServingPort, CertDir: install.LocalServingCertDir,
		}),
		LeaderElection:          true,
		LeaderElectionID:        "gauges",
		LeaderElectionNamespace: "default",
	})
	must(t, err)
	err = ctrl.NewControllerManagedBy(manager).For(gauge("", "", 0)).Owns(&corev1.ConfigMap{}).Complete(&reconciler{manager.GetClient()})
	must(t, err)
	manager.GetWebhookServer().Register("/validate-gauges", &webhook.Admission{Handler: admission.HandlerFunc(validate)})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- manager.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	<-manager.Elected()
	listens, ctx := manager.GetWebhookServer().StartedChecker(), limited(t)
	for listens(nil) != nil {
		must(t, ctx.Err())
	}
}

func TestManager(t *testing.T) {
	manage(t)
	t.Run("reconciles", reconciles)
	t.Run("is asked by webhook", asked)
}

func reconciles(t *testing.T) {
	ns, c, ctx := namespace(t, "reconciled", nil), clientOf(t, admin), limited(t)
	object := gauge(ns, "tank", 40)
	must(t, c.Create(ctx, object))
	shows := func(wanted string) func(client.Object) bool {
		return func(object client.Object) bool {
			shown, _, _ := unstructured.NestedString(object.(*unstructured.Unstructured).Object, "status", "shown")
			return shown == wanted
		}
	}
	must(t, until(ctx, c, gauges(), ns, shows("40 percent")))
	must(t, c.Patch(ctx, object, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"level":41}}`))))
	must(t, until(ctx, c, gauges(), ns, shows("41 percent")))
	// Whoever takes away what it owns is corrected.
	configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "tank"}}
	must(t, c.Get(ctx, client.ObjectKeyFromObject(configMap), configMap))
	first := configMap.UID
	if !metav1.IsControlledBy(configMap, object) {
		t.Fatalf("%+v", configMap.OwnerReferences)
	}
	must(t, c.Delete(ctx, configMap))
	again := func(object client.Object) bool { return object.GetUID() != first && object.GetName() == "tank" }
	must(t, until(ctx, c, &corev1.ConfigMapList{}, ns, again))
	if err := c.Create(ctx, gauge(ns, "wrong", 101)); !apierrors.IsInvalid(err) {
		t.Fatal(err)
	}
}

func asked(t *testing.T) {
	ns, c, ctx := namespace(t, "checked", map[string]string{"checked": "yes"}), clientOf(t, admin), limited(t)
	must(t, c.Create(ctx, gauge(ns, "half", 50)))
	err := c.Create(ctx, gauge(ns, "full", 91))
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "it would overflow for admin") {
		t.Fatal(err)
	}
}
