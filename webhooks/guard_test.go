package webhooks

import (
	"net/netip"
	"testing"
)

func TestAllowedAddresses(t *testing.T) {
	private := []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("fd00:1::/32")}
	for address, want := range map[string]bool{
		"93.184.215.14": true, "2606:2800:21f:cb07:6820:80da:af6b:8b2c": true, "::ffff:93.184.215.14": true,
		"10.1.2.3": true, "fd00:1::7": true,
		"::ffff:10.1.2.3": true, "64:ff9b::10.1.2.3": true,

		"::127.0.0.1": false, "::ffff:0:7f00:1": false, "::10.1.2.3": false, "64:ff9b:1::7f00:1": false,
		"2001:0:7f00:1::80ff:fffe": false,

		"127.0.0.1": false, "::1": false, "::ffff:127.0.0.1": false, "0.0.0.0": false, "::": false, "0.1.2.3": false,
		"10.2.0.1": false, "172.16.0.1": false, "172.31.255.255": false, "192.168.1.1": false,
		"::ffff:192.168.1.1": false,
		"169.254.169.254":    false, "fe80::1": false, "fe80::1%eth0": false, "fd00:ec2::254": false, "fc00::1": false,
		"100.100.100.200": false,
		"224.0.0.1":       false, "ff02::1": false, "255.255.255.255": false, "240.0.0.1": false,
		"64:ff9b::7f00:1":    false,
		"64:ff9b::a9fe:a9fe": false,
		"2002:7f00:1::":      false, "fec0::1": false, "198.18.0.1": false, "192.0.2.1": false,
	} {
		if got := allowed(netip.MustParseAddr(address), private); got != want {
			t.Errorf("%s: allowed is %v", address, got)
		}
	}
}
