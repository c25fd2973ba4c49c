//go:build linux

package clusters

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"lectern/internal/servertest"
)

// namespaces is a network in which each node has a network namespace of its own. Another namespace is the router
// between them, and to the test.
type namespaces struct {
	*testing.T
	router string // the name of its namespace, with which those of the nodes begin
	subnet int    // the second part of all addresses
	nodes  int
}

// maxSubnets bounds how many tests can have such networks at the same time.
const maxSubnets = 100

func newNamespaces(t *testing.T, nodes int) *namespaces {
	n := &namespaces{T: t, nodes: nodes}
	for n.subnet = 100; ; n.subnet++ {
		n.router = fmt.Sprint("lectern", n.subnet)
		err := exec.Command("ip", "netns", "add", n.router).Run() // fails if another test has it
		if err == nil {
			break
		}
		if n.subnet == 100+maxSubnets {
			t.Fatalf("network namespaces cannot be made: %v", err)
		}
	}
	t.Cleanup(func() { n.ip("", "netns del "+n.router) })
	own := n.connect("", 0) // the test
	t.Cleanup(func() {
		n.ip("",
			"link del "+own)
	}) // the kernel deletes it some time after the namespace of the other end
	n.ip("", fmt.Sprintf("route add 10.%d.0.0/16 via 10.%[1]d.0.1", n.subnet))
	for i := range nodes {
		name := n.place(i).namespace
		n.ip("", "netns add "+name)
		t.Cleanup(func() { n.ip("", "netns del "+name) })
		n.connect(name, i+1)
		n.ip(name, fmt.Sprintf("link set lo up\nroute add default via 10.%d.%d.1", n.subnet, i+1))
	}
	if text, err := exec.Command("nsenter", "--net=/var/run/netns/"+n.router, "sysctl", "-w",
		"net.ipv4.ip_forward=1").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return n
}

// connect makes a link between a namespace, "" for that of the test, and the router, and returns the name of both ends.
func (n *namespaces) connect(namespace string, number int) (name string) {
	name = fmt.Sprintf("%s-%d", n.router, number)
	other := namespace
	if other == "" {
		other = fmt.Sprint(os.Getpid())
	}
	n.ip(n.router, fmt.Sprintf("link add %s type veth peer name %[1]s netns %s", name, other))
	n.ip(n.router, fmt.Sprintf("addr add 10.%d.%d.1/24 dev %s\nlink set %[3]s up", n.subnet, number, name))
	n.ip(namespace, fmt.Sprintf("addr add 10.%d.%d.2/24 dev %s\nlink set %[3]s up", n.subnet, number, name))
	return name
}

// ip has the command of that name carry out lines in a namespace.
func (n *namespaces) ip(namespace, lines string) {
	n.Helper()
	c := exec.Command("ip", "-batch", "-")
	if namespace != "" {
		c = exec.Command("ip", "-netns", namespace, "-batch", "-")
	}
	c.Stdin = strings.NewReader(lines)
	if text, err := c.CombinedOutput(); err != nil {
		n.Errorf("ip in the network namespace %q: %v: %s\n%s", namespace, err, text, lines)
	}
}

func (n *namespaces) host(i int) string { return fmt.Sprintf("10.%d.%d.2", n.subnet, i+1) }

func (n *namespaces) place(i int) place {
	return place{listen: n.host(i) + ":7331", address: n.host(i) + ":7331", api: n.host(i) + ":1337",
		namespace: fmt.Sprintf("%s-n%d", n.router, i+1)}
}

func (n *namespaces) faults() []servertest.Fault {
	return []servertest.Fault{servertest.Held, servertest.Held, servertest.Away}
}

func (n *namespaces) reachable(fault servertest.Fault, does func(from, to int) bool) {
	what := "blackhole"
	if fault == servertest.Away {
		what = "unreachable" // the sender is told
	}
	rules := "rule flush\nrule add pref 32766 lookup main\n" // flush leaves the rule of local addresses alone
	for from := range n.nodes {
		for to := range n.nodes {
			if from != to && !does(from, to) {
				rules += fmt.Sprintf("rule add pref 10 from %s to %s %s\n", n.host(from), n.host(to), what)
			}
		}
	}
	n.ip(n.router, rules)
}
