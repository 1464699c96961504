package suite

import (
	"net"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// A second environment beside the first is another cluster, and is gone when it was stopped.
func TestStopEndsBothPrograms(t *testing.T) {
	second := &envtest.Environment{}
	config, err := second.Start()
	must(t, err)
	if info := whoami(t, config); info.Username != "admin" {
		t.Fatalf("%+v", info)
	}
	if err := clientOf(t, config).List(limited(t), gauges()); err == nil {
		t.Fatal("the second cluster has the types of the first")
	}
	plane := second.ControlPlane
	hosts := []string{plane.APIServer.SecureServing.HostPort(), plane.Etcd.URL.Host}
	must(t, second.Stop())
	for _, host := range hosts {
		if connection, err := net.Dial("tcp", host); err == nil {
			connection.Close()
			t.Fatalf("somebody still listens on %s", host)
		}
	}
}
