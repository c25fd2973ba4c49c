package publicaddr_test

import (
	"net/netip"
	"testing"

	"lectern/internal/publicaddr"
)

func TestIs(t *testing.T) {
	for _, c := range []struct {
		want      bool
		addresses []string
	}{
		{true, []string{"93.184.215.14", "2606:2800:21f:cb07:6820:80da:af6b:8b2c", "::ffff:93.184.215.14",
			"64:ff9b::93.184.215.14"}},
		{false, []string{"127.0.0.1", "::1", "0.0.0.0", "::", "0.1.2.3", "10.2.0.1", "172.16.0.1", "172.31.255.255",
			"192.168.1.1", "169.254.169.254",
			"fe80::1", "fe80::1%eth0", "fd00:ec2::254", "fc00::1", "100.100.100.200", "224.0.0.1", "ff02::1",
			"255.255.255.255", "240.0.0.1", "fec0::1",
			"198.18.0.1", "192.0.2.1", "2001:db8::1", "3fff::1"}},
		{false, []string{"::ffff:127.0.0.1", "::ffff:192.168.1.1", "::ffff:169.254.169.254"}}, // IPv4-mapped
		{false, []string{"::127.0.0.1", "::10.0.0.1", "::a9fe:a9fe",
			"::7f00:1%eth0"}}, // IPv4-compatible
		{false, []string{"::ffff:0:7f00:1", "::ffff:0:127.0.0.1",
			"::ffff:0:a9fe:a9fe"}}, // IPv4-translated
		{false, []string{"64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b::10.0.0.1"}}, // NAT64
		{false, []string{"64:ff9b:1::7f00:1", "64:ff9b:1:7f00:0:100::",
			"64:ff9b:1:ffff::a9fe:a9fe"}}, // NAT64 of one's own network
		{false, []string{"2002:7f00:1::", "2002:a9fe:a9fe::1"}},          // 6to4
		{false, []string{"2001:0:7f00:1::80ff:fffe", "2001::5601:5601"}}, // Teredo
	} {
		for _, address := range c.addresses {
			if got := publicaddr.Is(netip.MustParseAddr(address)); got != c.want {
				t.Errorf("%s: %v", address, got)
			}
		}
	}
}

func FuzzIs(f *testing.F) {
	for _, address := range []string{"127.0.0.1", "10.0.0.1", "169.254.169.254", "93.184.215.14"} {
		b := netip.MustParseAddr(address).As4()
		f.Add(b[:])
	}
	prefixes := []string{"::/96", "::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96"}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) != 4 || publicaddr.Is(netip.AddrFrom4([4]byte(b))) {
			return
		}
		for _, p := range prefixes { // whatever form an address has that is not public, it is not
			all := netip.MustParsePrefix(p).Addr().As16()
			copy(all[12:], b)
			if a := netip.AddrFrom16(all); publicaddr.Is(a) {
				t.Errorf("%s is public", a)
			}
		}
	})
}
