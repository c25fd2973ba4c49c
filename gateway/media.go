package gateway

import (
	"context"

	"lectern/gateway/admin"
	"lectern/media"
)

// openMedia opens the library of files, or shares the library of the former generation. It does nothing if upload is
// switched off.
func (g *generation) openMedia() (err error) {
	if !g.Settings.Upload.Enabled {
		return nil
	}
	shared := &g.project.shared
	if shared.library != nil {
		g.media, err = shared.library.Under(g.store, g.docs, g.Model)
		return err
	}
	o := media.Options{
		Dir: g.project.Data.Join(admin.UploadsName), Cache: g.project.Data.Join(admin.ImagesName), Store: g.store,
		Documents: g.docs, Model: g.Model, Settings: g.Settings.Upload.Settings, Memory: g.project.memory,
		Failed: func(err error) { g.project.log.Error(err.Error()) },
	}
	g.project.role.SetUpMedia(&o)
	g.media, err = media.Open(o)
	shared.library = g.media
	return err
}

// recoverMedia removes the files of uploads that were interrupted when the server ended. It first waits for the content
// that is still to come: before, it would remove files of documents that the server does not have yet.
func (p *Project) recoverMedia(ctx context.Context) {
	if p.role.AwaitContent(ctx) != nil {
		return
	}
	err := p.View(ctx, func(c admin.Content) error {
		if c.Media == nil {
			return nil
		}
		return c.Media.Recover(ctx)
	})
	if err != nil && ctx.Err() == nil {
		p.log.Error(err.Error())
	}
}

// A fileSource has files that this server does not have yet: the origin of a replica, or the other nodes of a cluster.
type fileSource interface {
	// Missing fetches a file that a client asks for and that is not there, and reports whether it is there now.
	Missing(ctx context.Context, name string) bool
}
