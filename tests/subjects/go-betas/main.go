// Command betas is a client of 2019: with client-go 0.17 it writes, reads, watches and deletes an object of each beta
// version that controllers of that time use, in JSON and in protobuf, and says what it did. The first thing that is not
// as it was then ends it.
package main

import (
	"fmt"
	"os"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	for _, format := range []string{"application/json", "application/vnd.kubernetes.protobuf"} {
		if err := run(format); err != nil {
			fmt.Fprintf(os.Stderr, "betas: %s: %v\n", format, err)
			os.Exit(1)
		}
	}
}

func run(format string) error {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return err
	}
	config.ContentType = format
	clients, err := newClients(config)
	if err != nil {
		return err
	}
	version, err := clients.kubernetes.Discovery().ServerVersion()
	if err != nil {
		return err
	}
	fmt.Println("server", version.GitVersion)
	mapper, err := clients.mapper()
	if err != nil {
		return err
	}
	for _, one := range clients.kinds() {
		if err := one.isMapped(mapper); err != nil {
			return err
		}
		if err := one.live(); err != nil {
			return fmt.Errorf("%s %s: %v", one.version, one.kind, err)
		}
		fmt.Println("lived", one.version, one.kind, format)
	}
	return clients.informed()
}

type clients struct {
	kubernetes  *kubernetes.Clientset
	definitions *apiextensions.Clientset
}

func newClients(config *rest.Config) (*clients, error) {
	core, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	definitions, err := apiextensions.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return &clients{kubernetes: core, definitions: definitions}, nil
}

// mapper is what kubectl and controller-runtime find types with.
func (c *clients) mapper() (meta.RESTMapper, error) {
	groups, err := restmapper.GetAPIGroupResources(c.kubernetes.Discovery())
	if err != nil {
		return nil, err
	}
	return restmapper.NewDiscoveryRESTMapper(groups), nil
}

// isMapped says whether the type is found by its kind, and by what a user types.
func (k kind) isMapped(mapper meta.RESTMapper) error {
	version, err := schema.ParseGroupVersion(k.version)
	if err != nil {
		return err
	}
	mapping, err := mapper.RESTMapping(version.WithKind(k.kind).GroupKind(), version.Version)
	if err != nil {
		return err
	}
	if mapping.Resource != version.WithResource(k.resource) {
		return fmt.Errorf("%s %s is mapped to %v", k.version, k.kind, mapping.Resource)
	}
	_, err = mapper.KindFor(schema.GroupVersionResource{Resource: k.resource})
	return err
}

// informed fills caches, as a controller does before it begins.
func (c *clients) informed() error {
	ingress := ingressThen()
	if _, err := c.kubernetes.ExtensionsV1beta1().Ingresses(namespace).Create(ingress); err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactory(c.kubernetes, 0)
	lister := factory.Extensions().V1beta1().Ingresses()
	stop := make(chan struct{})
	defer close(stop)
	synced := lister.Informer().HasSynced
	factory.Start(stop)
	if !cache.WaitForCacheSync(stop, synced) {
		return fmt.Errorf("the cache was not filled")
	}
	cached, err := lister.Lister().Ingresses(namespace).Get(ingress.Name)
	if err != nil {
		return err
	}
	if cached.Spec.Backend == nil || cached.Spec.Backend.ServiceName != "web" {
		return fmt.Errorf("the cache has %+v", cached.Spec)
	}
	fmt.Println("informed", "extensions/v1beta1", "Ingress")
	return c.kubernetes.ExtensionsV1beta1().Ingresses(namespace).Delete(ingress.Name, nil)
}
