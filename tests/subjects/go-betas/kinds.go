package main

import (
	"fmt"

	admission "k8s.io/api/admissionregistration/v1beta1"
	autoscaling1 "k8s.io/api/autoscaling/v2beta1"
	autoscaling2 "k8s.io/api/autoscaling/v2beta2"
	batchv1 "k8s.io/api/batch/v1"
	batch "k8s.io/api/batch/v1beta1"
	coordination "k8s.io/api/coordination/v1beta1"
	core "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1beta1"
	events "k8s.io/api/events/v1beta1"
	extensions "k8s.io/api/extensions/v1beta1"
	networking "k8s.io/api/networking/v1beta1"
	policy "k8s.io/api/policy/v1beta1"
	rbac "k8s.io/api/rbac/v1beta1"
	storage "k8s.io/api/storage/v1beta1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"
)

// kind is a type in a beta version, and an object of it.
type kind struct {
	client    rest.Interface
	version   string
	kind      string
	resource  string
	clustered bool
	object    object
	// What the object is to look like when it is read; nil where it is enough that it comes back.
	looks func(runtime.Object) error
}

type object interface {
	runtime.Object
	meta.Object
}

func named(name string) meta.ObjectMeta {
	return meta.ObjectMeta{Name: name}
}

func differs(what string, found interface{}) error {
	return fmt.Errorf("%s is %+v", what, found)
}

func ingressThen() *extensions.Ingress {
	backend := extensions.IngressBackend{ServiceName: "web", ServicePort: intstr.FromInt(80)}
	return &extensions.Ingress{ObjectMeta: named("then"), Spec: extensions.IngressSpec{Backend: &backend}}
}

func (c *clients) kinds() []kind {
	return append(c.workloads(), c.others()...)
}

func (c *clients) workloads() []kind {
	one := intstr.FromInt(1)
	half := int32(50)
	target := autoscaling1.CrossVersionObjectReference{Kind: "Deployment", Name: "web", APIVersion: "apps/v1"}
	return []kind{
		{
			client: c.kubernetes.PolicyV1beta1().RESTClient(), version: "policy/v1beta1",
			kind: "PodDisruptionBudget", resource: "poddisruptionbudgets",
			object: &policy.PodDisruptionBudget{ObjectMeta: named("b"), Spec: policy.PodDisruptionBudgetSpec{
				MinAvailable: &one, Selector: &meta.LabelSelector{},
			}},
			looks: func(read runtime.Object) error {
				if selector := read.(*policy.PodDisruptionBudget).Spec.Selector; selector == nil ||
					len(selector.MatchExpressions) != 0 {
					return differs("the empty selector", selector)
				}
				return nil
			},
		},
		{
			client: c.kubernetes.BatchV1beta1().RESTClient(), version: "batch/v1beta1",
			kind: "CronJob", resource: "cronjobs",
			object: &batch.CronJob{ObjectMeta: named("c"), Spec: batch.CronJobSpec{
				Schedule: "@daily", JobTemplate: batch.JobTemplateSpec{Spec: batchv1.JobSpec{Template: pod()}},
			}},
			looks: func(read runtime.Object) error {
				if policy := read.(*batch.CronJob).Spec.ConcurrencyPolicy; policy != batch.AllowConcurrent {
					return differs("the default policy", policy)
				}
				return nil
			},
		},
		{
			client: c.kubernetes.AutoscalingV2beta1().RESTClient(), version: "autoscaling/v2beta1",
			kind: "HorizontalPodAutoscaler", resource: "horizontalpodautoscalers",
			object: &autoscaling1.HorizontalPodAutoscaler{ObjectMeta: named("a1"),
				Spec: autoscaling1.HorizontalPodAutoscalerSpec{MaxReplicas: 3, ScaleTargetRef: target,
					Metrics: []autoscaling1.MetricSpec{{Type: autoscaling1.ResourceMetricSourceType,
						Resource: &autoscaling1.ResourceMetricSource{Name: core.ResourceCPU, TargetAverageUtilization: &half}}},
				}},
			looks: func(read runtime.Object) error {
				metric := read.(*autoscaling1.HorizontalPodAutoscaler).Spec.Metrics[0].Resource
				if metric == nil || metric.TargetAverageUtilization == nil || *metric.TargetAverageUtilization != half {
					return differs("the metric", metric)
				}
				return nil
			},
		},
		{
			client: c.kubernetes.AutoscalingV2beta2().RESTClient(), version: "autoscaling/v2beta2",
			kind: "HorizontalPodAutoscaler", resource: "horizontalpodautoscalers",
			object: &autoscaling2.HorizontalPodAutoscaler{ObjectMeta: named("a2"),
				Spec: autoscaling2.HorizontalPodAutoscalerSpec{MaxReplicas: 3,
					ScaleTargetRef: autoscaling2.CrossVersionObjectReference(target)}},
			looks: func(read runtime.Object) error {
				metrics := read.(*autoscaling2.HorizontalPodAutoscaler).Spec.Metrics
				if len(metrics) != 1 || *metrics[0].Resource.Target.AverageUtilization != 80 {
					return differs("the default metric", metrics)
				}
				return nil
			},
		},
		{
			client: c.kubernetes.ExtensionsV1beta1().RESTClient(), version: "extensions/v1beta1",
			kind: "Ingress", resource: "ingresses", object: ingressThen(),
			looks: func(read runtime.Object) error {
				if backend := read.(*extensions.Ingress).Spec.Backend; backend == nil || backend.ServicePort.IntVal != 80 {
					return differs("the backend", backend)
				}
				return nil
			},
		},
		{
			client: c.kubernetes.NetworkingV1beta1().RESTClient(), version: "networking.k8s.io/v1beta1",
			kind: "Ingress", resource: "ingresses", object: ingressWithPaths(),
			looks: func(read runtime.Object) error {
				backend := read.(*networking.Ingress).Spec.Rules[0].HTTP.Paths[0].Backend
				if backend.ServiceName != "web" || backend.ServicePort.StrVal != "http" {
					return differs("the backend", backend)
				}
				return nil
			},
		},
	}
}

func ingressWithPaths() *networking.Ingress {
	backend := networking.IngressBackend{ServiceName: "web", ServicePort: intstr.FromString("http")}
	paths := networking.HTTPIngressRuleValue{Paths: []networking.HTTPIngressPath{{Path: "/", Backend: backend}}}
	rule := networking.IngressRule{Host: "example.com", IngressRuleValue: networking.IngressRuleValue{HTTP: &paths}}
	return &networking.Ingress{ObjectMeta: named("paths"), Spec: networking.IngressSpec{Rules: []networking.IngressRule{rule}}}
}

func pod() core.PodTemplateSpec {
	return core.PodTemplateSpec{Spec: core.PodSpec{
		RestartPolicy: core.RestartPolicyNever, Containers: []core.Container{{Name: "c", Image: "i"}},
	}}
}

func (c *clients) others() []kind {
	holder := "me"
	url := "https://127.0.0.1:1"
	port, ready := int32(80), true
	return []kind{
		{
			client: c.definitions.ApiextensionsV1beta1().RESTClient(), version: "apiextensions.k8s.io/v1beta1",
			kind: "CustomResourceDefinition", resource: "customresourcedefinitions", clustered: true,
			object: &apiextensions.CustomResourceDefinition{ObjectMeta: named("foos.example.com"),
				Spec: apiextensions.CustomResourceDefinitionSpec{Group: "example.com", Version: "v1",
					Names: apiextensions.CustomResourceDefinitionNames{Plural: "foos", Kind: "Foo"},
					AdditionalPrinterColumns: []apiextensions.CustomResourceColumnDefinition{
						{Name: "A", Type: "string", JSONPath: ".spec.a"}},
					Subresources: &apiextensions.CustomResourceSubresources{
						Status: &apiextensions.CustomResourceSubresourceStatus{}},
				}},
			looks: func(read runtime.Object) error {
				spec := read.(*apiextensions.CustomResourceDefinition).Spec
				if spec.Version != "v1" || len(spec.Versions) != 1 || spec.Subresources == nil ||
					len(spec.AdditionalPrinterColumns) != 1 || spec.AdditionalPrinterColumns[0].JSONPath != ".spec.a" ||
					spec.PreserveUnknownFields == nil || !*spec.PreserveUnknownFields {
					return differs("the definition", spec)
				}
				return nil
			},
		},
		{
			client: c.kubernetes.AdmissionregistrationV1beta1().RESTClient(), version: "admissionregistration.k8s.io/v1beta1",
			kind: "ValidatingWebhookConfiguration", resource: "validatingwebhookconfigurations", clustered: true,
			object: &admission.ValidatingWebhookConfiguration{ObjectMeta: named("w"), Webhooks: []admission.ValidatingWebhook{
				{Name: "w.example.com", ClientConfig: admission.WebhookClientConfig{URL: &url}}}},
			looks: func(read runtime.Object) error {
				hook := read.(*admission.ValidatingWebhookConfiguration).Webhooks[0]
				if *hook.FailurePolicy != admission.Ignore || *hook.SideEffects != admission.SideEffectClassUnknown ||
					*hook.TimeoutSeconds != 30 || *hook.MatchPolicy != admission.Exact {
					return differs("the webhook", hook)
				}
				return nil
			},
		},
		{
			client: c.kubernetes.CoordinationV1beta1().RESTClient(), version: "coordination.k8s.io/v1beta1",
			kind: "Lease", resource: "leases",
			object: &coordination.Lease{ObjectMeta: named("l"), Spec: coordination.LeaseSpec{HolderIdentity: &holder}},
		},
		{
			client: c.kubernetes.RbacV1beta1().RESTClient(), version: "rbac.authorization.k8s.io/v1beta1",
			kind: "Role", resource: "roles",
			object: &rbac.Role{ObjectMeta: named("r"), Rules: []rbac.PolicyRule{
				{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"pods"}}}},
		},
		{
			client: c.kubernetes.StorageV1beta1().RESTClient(), version: "storage.k8s.io/v1beta1",
			kind: "StorageClass", resource: "storageclasses", clustered: true,
			object: &storage.StorageClass{ObjectMeta: named("s"), Provisioner: "example.com/p"},
		},
		{
			client: c.kubernetes.DiscoveryV1beta1().RESTClient(), version: "discovery.k8s.io/v1beta1",
			kind: "EndpointSlice", resource: "endpointslices",
			object: &discovery.EndpointSlice{ObjectMeta: named("e"), AddressType: discovery.AddressTypeIPv4,
				Ports: []discovery.EndpointPort{{Port: &port}},
				Endpoints: []discovery.Endpoint{{Addresses: []string{"10.0.0.1"},
					Conditions: discovery.EndpointConditions{Ready: &ready},
					Topology:   map[string]string{"topology.kubernetes.io/zone": "z"}}}},
			looks: func(read runtime.Object) error {
				topology := read.(*discovery.EndpointSlice).Endpoints[0].Topology
				if topology["topology.kubernetes.io/zone"] != "z" {
					return differs("the topology", topology)
				}
				return nil
			},
		},
		{
			client: c.kubernetes.EventsV1beta1().RESTClient(), version: "events.k8s.io/v1beta1",
			kind: "Event", resource: "events",
			object: &events.Event{ObjectMeta: named("v"), EventTime: meta.NewMicroTime(epoch), Note: "noted",
				Type: "Normal", Reason: "R", Action: "A", ReportingController: "example.com/c", ReportingInstance: "i",
				Regarding: core.ObjectReference{Kind: "Pod", Name: "p", Namespace: namespace}},
			looks: func(read runtime.Object) error {
				if note := read.(*events.Event).Note; note != "noted" {
					return differs("the note", note)
				}
				return nil
			},
		},
	}
}
