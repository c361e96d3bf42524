package gitcmd

import (
	"context"
	"io"
)

// UploadPack answers one request of a client that clones or fetches over HTTP: with advertise the list of refs, otherwise
// what it asks for. The protocol is the client's header Git-Protocol; whatever it says, a client that knows the name of
// any object of the repository can get it.
func (r *Repository) UploadPack(ctx context.Context, protocol string, advertise bool, in io.Reader, out io.Writer) error {
	command := NewCommand("upload-pack", "--stateless-rpc", "--strict", "--timeout=60")
	if advertise {
		command = command.and("--http-backend-info-refs")
	}
	c := r.call(command.Values(r.folder), in, out)
	switch protocol {
	case "version=0", "version=1", "version=2":
		c.more.variables = append(c.more.variables, "GIT_PROTOCOL="+protocol)
	}
	return r.git.run(ctx, c)
}
