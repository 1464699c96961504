package suite

import (
	"slices"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

func whoami(t *testing.T, config *rest.Config) authenticationv1.UserInfo {
	t.Helper()
	clients, err := kubernetes.NewForConfig(config)
	must(t, err)
	reviews := clients.AuthenticationV1().SelfSubjectReviews()
	review, err := reviews.Create(limited(t), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	must(t, err)
	return review.Status.UserInfo
}

func TestUsersHaveCertificates(t *testing.T) {
	user, err := environment.AddUser(envtest.User{Name: "jo", Groups: []string{"dev", "ops"}}, nil)
	must(t, err)
	info := whoami(t, user.Config())
	groups := []string{"dev", "ops", "system:authenticated"}
	if info.Username != "jo" || !slices.Equal(info.Groups, groups) {
		t.Fatalf("%+v", info)
	}
	credential := info.Extra["authentication.kubernetes.io/credential-id"]
	if len(credential) != 1 || !strings.HasPrefix(credential[0], "X509SHA256=") {
		t.Fatalf("extra: %+v", info.Extra)
	}
	// The same through a kubeconfig.
	kubeconfig, err := user.KubeConfig()
	must(t, err)
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	must(t, err)
	if again := whoami(t, config); again.Username != "jo" {
		t.Fatalf("%+v", again)
	}
	if info := whoami(t, admin); !slices.Contains(info.Groups, "system:masters") {
		t.Fatalf("%+v", info)
	}
}

func TestUsersHaveTheirRights(t *testing.T) {
	ns := namespace(t, "rights", nil)
	user, err := environment.AddUser(envtest.User{Name: "sam", Groups: []string{"readers"}}, nil)
	must(t, err)
	theirs := clientOf(t, user.Config())
	list := func() error {
		return theirs.List(limited(t), &corev1.ConfigMapList{}, client.InNamespace(ns))
	}
	refusal := `configmaps is forbidden: User "sam" cannot list resource "configmaps" in API group "" in the namespace "rights"`
	if err := list(); !apierrors.IsForbidden(err) || err.Error() != refusal {
		t.Fatal(err)
	}
	role := &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "readers"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"list"}}},
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "readers"},
		Subjects:   []rbacv1.Subject{{Kind: "Group", Name: "readers", APIGroup: rbacv1.GroupName}},
		RoleRef:    rbacv1.RoleRef{Kind: "Role", Name: "readers", APIGroup: rbacv1.GroupName},
	}
	must(t, clientOf(t, admin).Create(limited(t), role))
	must(t, clientOf(t, admin).Create(limited(t), binding))
	must(t, list())
	if err := theirs.Create(limited(t), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "a"}}); !apierrors.IsForbidden(err) {
		t.Fatal(err)
	}
}

func TestStrangersAreNobody(t *testing.T) {
	anonymous := rest.AnonymousClientConfig(admin)
	// Not by clientOf: nobody may not even ask which types there are.
	nodes := func() error {
		clients, err := kubernetes.NewForConfig(anonymous)
		must(t, err)
		_, err = clients.CoreV1().Nodes().List(limited(t), metav1.ListOptions{})
		return err
	}
	if err := nodes(); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), `User "system:anonymous"`) {
		t.Fatal(err)
	}
	anonymous.BearerToken = "nobody's"
	if err := nodes(); !apierrors.IsUnauthorized(err) {
		t.Fatal(err)
	}
}

func TestAccountsHaveTokens(t *testing.T) {
	ns := namespace(t, "accounts", nil)
	clients, err := kubernetes.NewForConfig(admin)
	must(t, err)
	accounts := clients.CoreV1().ServiceAccounts(ns)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot"}}
	_, err = accounts.Create(limited(t), account, metav1.CreateOptions{})
	must(t, err)
	request, err := accounts.CreateToken(limited(t), "robot", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	must(t, err)
	config := rest.AnonymousClientConfig(admin)
	config.BearerToken = request.Status.Token
	if info := whoami(t, config); info.Username != "system:serviceaccount:accounts:robot" {
		t.Fatalf("%+v", info)
	}
}

func TestPodsNeedNoAccount(t *testing.T) {
	ns := namespace(t, "pods", nil)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "p"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
	must(t, clientOf(t, admin).Create(limited(t), pod))
	if len(pod.Spec.Volumes) != 0 || pod.Spec.ServiceAccountName != "" {
		t.Fatalf("%+v", pod.Spec)
	}
}
