package credentials_test

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lectern/gateway/internal/cluster/credentials"
)

var quiet = slog.New(slog.DiscardHandler)

// created makes the credentials of node1 and node2, which are at 127.0.0.1, and returns their directory.
func created(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if _, err := credentials.Create(dir, []credentials.Node{{"node1", []string{"127.0.0.1"}},
		{"node2", []string{"127.0.0.1", "node2.lan"}}}); err != nil {
		t.Fatal(err)
	}
	return dir
}

func load(t *testing.T, dir string) *credentials.Credentials {
	t.Helper()
	c, err := credentials.Load(dir, quiet)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// shake connects a client with a server over a pipe, and returns what both have seen and their errors. The client's
// error includes that of its first read: only that tells it, in TLS 1.3, whether the server has let it in.
func shake(t *testing.T, client, server *tls.Config) (atServer tls.ConnectionState, clientErr, serverErr error) {
	t.Helper()
	near, far := net.Pipe()
	c, s := tls.Client(near, client), tls.Server(far, server)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer far.Close()
		if serverErr = s.Handshake(); serverErr == nil {
			atServer = s.ConnectionState()
			_, serverErr = s.Write([]byte{1})
		}
	}()
	var b [1]byte
	if _, clientErr = c.Read(b[:]); clientErr != nil {
		near.Close()
	}
	<-done
	near.Close()
	return atServer, clientErr, serverErr
}

func TestHandshake(t *testing.T) {
	dir, other := created(t), created(t)
	node1, node2 := load(t, filepath.Join(dir, "node1")), load(t, filepath.Join(dir, "node2"))
	stranger := load(t, filepath.Join(other, "node1"))
	if node2.Name() != "node2" {
		t.Errorf("node2 has the name %q", node2.Name())
	}
	plain := node1.Client("127.0.0.1", "a")
	plain.GetClientCertificate = nil
	old := node1.Client("127.0.0.1", "a")
	old.MinVersion, old.MaxVersion = tls.VersionTLS12, tls.VersionTLS12
	trusting := stranger.Client("127.0.0.1", "a") // connects to anybody
	trusting.InsecureSkipVerify = true
	forged := stranger.Server("a") // lets anybody in
	forged.ClientAuth = tls.RequestClientCert
	for _, tt := range []struct {
		name           string
		client, server *tls.Config
		refuses, want  string // who refuses ("client", "server" or nobody), and what its error says
	}{
		{"by address", node1.Client("127.0.0.1", "a"), node2.Server("b", "a"), "", ""},
		{"by name", node1.Client("node2.lan", "a"), node2.Server("b", "a"), "", ""},
		{"another host", node1.Client("10.0.0.9", "a"), node2.Server("a"), "client",
			"certificate is valid for 127.0.0.1, not 10.0.0.9"},
		{"a client of another authority", trusting, node2.Server("a"), "server",
			"certificate signed by unknown authority"},
		{"a server of another authority", node1.Client("127.0.0.1", "a"), forged, "client",
			"certificate signed by unknown authority"},
		{"no certificate of the client", plain, node2.Server("a"), "server", "client didn't provide a certificate"},
		{"an old version of TLS", old, node2.Server("a"), "server", "unsupported versions"},
		{"another protocol", node1.Client("127.0.0.1", "c"), node2.Server("a"), "server",
			"unsupported application protocols"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			state, clientErr, serverErr := shake(t, tt.client, tt.server)
			if tt.want == "" {
				if clientErr != nil || serverErr != nil || credentials.PeerName(state) != "node1" ||
					state.NegotiatedProtocol != "a" {
					t.Errorf("the peer is %q and speaks %q; %v; %v", credentials.PeerName(state),
						state.NegotiatedProtocol, clientErr, serverErr)
				}
				return
			}
			err := map[string]error{"client": clientErr, "server": serverErr}[tt.refuses]
			if clientErr == nil || serverErr == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("the client says %v, the server %v; want of the %s %q", clientErr, serverErr, tt.refuses,
					tt.want)
			}
		})
	}
}

// TestFiles makes credentials in several runs.
func TestFiles(t *testing.T) {
	dir := created(t)
	nodeFiles := []string{"ca.crt", "cluster.key", "node.crt", "node.key"}
	var want []string
	for _, node := range []string{"node1", "node2"} {
		for _, file := range nodeFiles {
			want = append(want, node+"/"+file)
		}
	}
	before := files(t, dir)
	if got := names(before); !slices.Equal(got, append([]string{"ca.crt", "ca.key", "cluster.key"}, want...)) {
		t.Errorf("the first run makes %v", got)
	}
	result, err := credentials.Create(
		dir, []credentials.Node{{"node2", []string{"node2.lan"}}, {"node3", []string{"::1", "node3"}}})
	if err != nil || result.Authority || !slices.Equal(result.Made, []string{"node3"}) ||
		!slices.Equal(result.Kept, []string{"node2"}) {
		t.Errorf("the second run: %+v, %v", result, err)
	}
	after := files(t, dir)
	for name, text := range before {
		if after[name] != text {
			t.Errorf("the second run has changed %s", name)
		}
	}
	node1, node3 := load(t, filepath.Join(dir, "node1")), load(t, filepath.Join(dir, "node3"))
	for _, host := range []string{"::1", "node3"} {
		if _, err1, err3 := shake(t, node1.Client(host), node3.Server()); err1 != nil || err3 != nil {
			t.Errorf("to node3 at %s: %v, %v", host, err1, err3)
		}
	}
	if plain, _, err := node3.Open("a", node1.Seal("a", []byte("secret"))); err != nil || string(plain) != "secret" {
		t.Errorf("node3 opens %q, %v", plain, err)
	}
	if result, err := credentials.Create(dir, []credentials.Node{{"node4", []string{"a"}},
		{"node1", []string{"10.0.0.1"}}}); err == nil || result.Made != nil {
		t.Errorf("credentials of node1 for another host: %+v, %v", result, err)
	}
	if !slices.Equal(names(files(t, dir)), names(after)) {
		t.Error("a run that fails has left files")
	}
}

// files returns the contents of the files below dir. It checks that only their owner can read them.
func files(t testing.TB, dir string) map[string]string {
	t.Helper()
	texts := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has the mode %v", path, info.Mode())
		}
		if e.IsDir() {
			return nil
		}
		text, err := os.ReadFile(path)
		texts[strings.TrimPrefix(filepath.ToSlash(path), filepath.ToSlash(dir)+"/")] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

func names(files map[string]string) []string {
	var list []string
	for name := range files {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

func TestSeal(t *testing.T) {
	node1 := load(t, filepath.Join(created(t), "node1"))
	stranger := load(t, filepath.Join(created(t), "node1"))
	for _, plain := range []string{"", "secret", strings.Repeat("long", 5000)} {
		sealed := node1.Seal("jwt", []byte(plain))
		if got, current, err := node1.Open("jwt", sealed); err != nil || string(got) != plain || !current {
			t.Errorf("opened: %q, %v, %v; want %q", got, current, err, plain)
		}
		if again := node1.Seal("jwt", []byte(plain)); bytes.Equal(again, sealed) {
			t.Error("the same value is sealed to the same bytes twice")
		}
		if _, _, err := node1.Open("other", sealed); !errors.Is(err, credentials.ErrSealed) {
			t.Errorf("opened for another purpose: %v", err)
		}
		if _, _, err := stranger.Open("jwt", sealed); !errors.Is(err, credentials.ErrSealed) {
			t.Errorf("opened in another cluster: %v", err)
		}
		for _, i := range []int{0, 1, len(sealed) / 2, len(sealed) - 1} {
			changed := bytes.Clone(sealed)
			changed[i] ^= 1
			if _, _, err := node1.Open("jwt", changed); !errors.Is(err, credentials.ErrSealed) {
				t.Errorf("opened with byte %d changed: %v", i, err)
			}
			if _, _, err := node1.Open("jwt", sealed[:i]); !errors.Is(err, credentials.ErrSealed) {
				t.Errorf("opened the first %d bytes: %v", i, err)
			}
		}
		if plain != "" && bytes.Contains(sealed, []byte(plain)) {
			t.Error("the sealed value contains the plain one")
		}
	}
}

// TestReplaceClusterKey replaces the cluster key of two nodes in three steps, after each of which both can open what
// the other seals.
func TestReplaceClusterKey(t *testing.T) {
	dir := created(t)
	path := filepath.Join(dir, "node1", "cluster.key")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	former, next := string(text), strings.Repeat("0f", 32)+"\n"
	with := func(keys string) *credentials.Credentials {
		t.Helper()
		if err := os.WriteFile(path, []byte(keys), 0o600); err != nil {
			t.Fatal(err)
		}
		return load(t, filepath.Join(dir, "node1"))
	}
	for _, test := range []struct {
		seals, opens string
		current      bool
	}{
		{former, former + next, true},
		{former + next, former, true},
		{former + next, next + former, false},
		{next + former, former + next, false},
		{next + former, next, true},
		{next, next + former, true},
	} {
		sealed := with(test.seals).Seal("jwt", []byte("secret"))
		if plain, current, err := with(test.opens).Open("jwt", sealed); string(plain) != "secret" ||
			current != test.current || err != nil {
			t.Errorf("sealed with %q, opened with %q: %q, %v, %v", test.seals, test.opens, plain, current, err)
		}
	}
	if _, _, err := with(next).Open("jwt", with(former).Seal("jwt", []byte("secret"))); !errors.Is(
		err, credentials.ErrSealed) {
		t.Errorf("opened with another key: %v", err)
	}
}

// TestLoadRefuses loads credentials with one thing wrong.
func TestLoadRefuses(t *testing.T) {
	other := created(t)
	for _, tt := range []struct {
		name  string
		spoil func(dir string) error
		want  string // in the error
	}{
		{"no files", os.RemoveAll, "make them with `lectern cluster init`, and copy the node's directory to "},
		{"no certificate", remove("node.crt"), "node.crt: no such file or directory; make them"},
		{"no authority", remove("ca.crt"), "ca.crt: no such file or directory; make them"},
		{"an open key", chmod("node.key", 0o604), "chmod 600 "},
		{"an open cluster key", chmod("cluster.key", 0o644), "cluster.key; run: chmod 600 "},
		{"another authority", copied(filepath.Join(other, "ca.crt"), "ca.crt"), "is not signed by "},
		{"another key", copied(filepath.Join(other, "node1/node.key"), "node.key"), "does not match"},
		{"no PEM", copied(filepath.Join(other, "cluster.key"), "ca.crt"), "it has no certificate in PEM"},
		{"no cluster key", copied(filepath.Join(other, "ca.crt"), "cluster.key"),
			"it does not hold a cluster key, which is 64 hexadecimal digits"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := filepath.Join(created(t), "node1")
			if err := tt.spoil(dir); err != nil {
				t.Fatal(err)
			}
			if _, err := credentials.Load(dir, quiet); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("the error is %v; want %q", err, tt.want)
			}
		})
	}
}

// TestOpenKeysOfTheGroup loads keys that the group of their owner can read, as orchestrators mount secrets.
func TestOpenKeysOfTheGroup(t *testing.T) {
	dir := filepath.Join(created(t), "node1")
	for _, name := range []string{"node.key", "cluster.key"} {
		if err := chmod(name, 0o640)(dir); err != nil {
			t.Fatal(err)
		}
	}
	load(t, dir)
}

func remove(name string) func(string) error {
	return func(dir string) error { return os.Remove(filepath.Join(dir, name)) }
}

func chmod(name string, mode os.FileMode) func(string) error {
	return func(dir string) error { return os.Chmod(filepath.Join(dir, name), mode) }
}

func copied(from, name string) func(string) error {
	return func(dir string) error {
		text, err := os.ReadFile(from)
		if err != nil {
			return fmt.Errorf("read the other file: %w", err)
		}
		return os.WriteFile(filepath.Join(dir, name), text, 0o600)
	}
}
