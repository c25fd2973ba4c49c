package gateway_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"lectern/backup"
	"lectern/gateway"
	"lectern/gateway/admin"
	"lectern/internal/objects"
	"lectern/internal/servertest"
)

// TestContinuousBackupOfNodeHasAllFiles makes a continuous backup at a node that joined with an empty directory, while
// files are uploaded at another node. The node gets them a moment after the entries that name them. The backup must
// have all of them.
func TestContinuousBackupOfNodeHasAllFiles(t *testing.T) {
	nodes := newCluster(t, 3)
	token := nodes[0].token("writer")
	place := t.TempDir()
	to, err := objects.NewDirectory(place)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	based, ended := make(chan struct{}, 1), make(chan error, 1)
	go func() {
		ended <- gateway.Directory(nodes[2].dir, gateway.Options{}).Ship(
			ctx, admin.ShipOptions{To: to, Every: time.Hour, Keep: time.Hour, Report: func(p backup.Progress) {
				if p.Note != "" {
					select {
					case based <- struct{}{}:
					default:
					}
				}
			}})
	}()
	select {
	case <-based:
	case err := <-ended:
		t.Fatal(err)
	case <-time.After(clusterPatience):
		t.Fatal("no base is taken")
	}
	var contents []string
	for i := range 40 {
		contents = append(contents, fmt.Sprintf("file %d", i))
		nodes[0].uploads("/api/upload", token, contents[i])
	}
	for _, content := range contents {
		sum := sha256.Sum256([]byte(content))
		name := hex.EncodeToString(sum[:])
		servertest.Await(t, fmt.Sprintf("the backup has %q", content), func() error {
			_, err := os.Stat(filepath.Join(place, "files", name[:2], name))
			return err
		})
	}
	cancel()
	if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
