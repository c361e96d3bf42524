package gitcmd_test

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"atelier/internal/gitcmd"
	"atelier/internal/gitcmd/gittest"
)

// serve is a server of clones, as the product has one, made of UploadPack.
func serve(t *testing.T, repository *gitcmd.Repository) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		in := io.Reader(r.Body)
		if r.Header.Get("Content-Encoding") == "gzip" {
			unpacked, err := gzip.NewReader(r.Body)
			if err != nil {
				t.Errorf("gzip: %v", err)
				return
			}
			in = unpacked
		}
		advertise := r.Method == http.MethodGet
		if advertise {
			w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
			if !strings.Contains(r.Header.Get("Git-Protocol"), "version=2") {
				fmt.Fprint(w, "001e# service=git-upload-pack\n0000")
			}
		} else {
			w.Header().Set("Content-Type", "application/x-git-upload-pack-result")
		}
		if err := repository.UploadPack(r.Context(), r.Header.Get("Git-Protocol"), advertise, in, w); err != nil {
			t.Errorf("UploadPack: %v", err)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestUploadPack(t *testing.T) {
	t.Parallel()
	repository, _ := local(t, open(t, ""))
	id := commit(t, repository, gitcmd.Commit{Write: map[string][]byte{"a": []byte("a"), "b/c": []byte("c")}, Message: "x"})
	if err := repository.SetRef(t.Context(), "refs/heads/main", id); err != nil {
		t.Fatal(err)
	}
	url := serve(t, repository)
	for _, version := range []string{"0", "1", "2"} {
		clone := filepath.Join(t.TempDir(), "clone")
		gittest.Run(t, "", "-c", "protocol.version="+version, "clone", "--quiet", url, clone)
		text, err := os.ReadFile(filepath.Join(clone, "b", "c"))
		if err != nil || string(text) != "c" {
			t.Errorf("version %s: %q, %v", version, text, err)
		}
		if got := gittest.Run(t, clone, "rev-parse", "HEAD"); got != id {
			t.Errorf("version %s: %s, want %s", version, got, id)
		}
	}
	// Whatever stands in the header, it is not a variable of its own.
	var out bytes.Buffer
	if err := repository.UploadPack(t.Context(), "version=2\x00X=y", true, strings.NewReader(""), &out); err != nil || !strings.Contains(out.String(), id) {
		t.Errorf("%v, %q", err, out.String())
	}
}

// pack is a pack of what one commit has more than others.
func pack(t *testing.T, folder, commit string, without ...string) []byte {
	t.Helper()
	var in, out bytes.Buffer
	fmt.Fprintln(&in, commit)
	for _, other := range without {
		fmt.Fprintln(&in, "^"+other)
	}
	err := open(t, "").Run(t.Context(), folder, gitcmd.NewCommand("pack-objects", "--revs", "--stdout", "--thin", "-q"), &in, &out)
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestReceive(t *testing.T) {
	t.Parallel()
	git := open(t, "")
	theirs, theirFolder := local(t, git)
	text := strings.Repeat("a long text that deltas are made of\n", 200)
	first := commit(t, theirs, simple(text))
	second := commit(t, theirs, simple(text+"changed", first))
	ours, folder := local(t, git)
	receive := func(text []byte, most int64) (*gitcmd.Quarantine, error) {
		return ours.Receive(t.Context(), bytes.NewReader(text), most)
	}
	whole := pack(t, theirFolder, first)
	q, err := receive(whole, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	look := func(r *gitcmd.Repository, id string, want bool) {
		t.Helper()
		if got, err := r.Has(t.Context(), id); got != want || err != nil {
			t.Errorf("%s is there: %t, %v, want %t", id, got, err, want)
		}
	}
	look(q.Repository, first, true)
	look(ours, first, false)
	if got := files(t, q.Repository, first, ""); got["file"] != text {
		t.Errorf("in the quarantine: %v", got)
	}
	q.Drop()
	look(ours, first, false)
	clean(t, ours, folder)

	_, err = receive(pack(t, theirFolder, second, first), 1<<20)
	wantKind(t, err, gitcmd.Damaged) // it needs what is not here
	if q, err = receive(whole, 1<<20); err != nil {
		t.Fatal(err)
	}
	if err := q.Keep(); err != nil {
		t.Fatal(err)
	}
	q.Drop()
	look(ours, first, true)
	if q, err = receive(pack(t, theirFolder, second, first), 1<<20); err != nil {
		t.Fatalf("a thin pack: %v", err)
	}
	if ok, err := q.IsAncestor(t.Context(), first, second); !ok || err != nil {
		t.Errorf("the past of the new commit: %t, %v", ok, err)
	}
	if err := q.Keep(); err != nil {
		t.Fatal(err)
	}
	if err := ours.SetRef(t.Context(), "refs/heads/main", second); err != nil {
		t.Error(err)
	}
	clean(t, ours, folder)
}

func TestReceiveRefuses(t *testing.T) {
	t.Parallel()
	git, err := gitcmd.Open(t.Context(), gitcmd.Config{Limits: gitcmd.Limits{Objects: 10}})
	if err != nil {
		t.Fatal(err)
	}
	theirs, theirFolder := local(t, git)
	good := pack(t, theirFolder, commit(t, theirs, simple("x")))
	many := gitcmd.Commit{Write: map[string][]byte{}}
	for i := range 20 {
		many.Write[fmt.Sprint(i)] = fmt.Append(nil, i)
	}
	spoiled := bytes.Clone(good)
	spoiled[len(spoiled)/2] ^= 0xff
	ours, folder := local(t, git)
	for name, c := range map[string]struct {
		text []byte
		most int64
		kind gitcmd.Kind
	}{
		"too many bytes": {good, int64(len(good)) - 1, gitcmd.TooLarge}, "too many objects": {pack(t, theirFolder, commit(t, theirs, many)), 1 << 20, gitcmd.TooLarge},
		"nothing": {nil, 100, gitcmd.Damaged}, "no pack": {[]byte("hello, this is no pack"), 100, gitcmd.Damaged}, "delta bomb": {deltaBomb(), 1 << 20, gitcmd.TooLarge}, "half": {good[:len(good)/2], 1 << 20, gitcmd.Damaged}, "spoiled": {spoiled, 1 << 20, gitcmd.Damaged},
	} {
		_, err := ours.Receive(t.Context(), bytes.NewReader(c.text), c.most)
		if problem, ok := errors.AsType[*gitcmd.Problem](err); !ok || problem.Kind != c.kind {
			t.Errorf("%s: %v, want %s", name, err, c.kind)
		}
	}
	clean(t, ours, folder)
}

// deltaBomb is a pack of some bytes with an object that claims to unfold to four gigabytes.
func deltaBomb() []byte {
	packed := func(text []byte) []byte {
		var out bytes.Buffer
		w := zlib.NewWriter(&out)
		_, _ = w.Write(text)
		_ = w.Close()
		return out.Bytes()
	}
	text := []byte("PACK\x00\x00\x00\x02\x00\x00\x00\x02")
	base := append([]byte{0x31}, packed([]byte("a"))...)                                               // a blob of one byte
	delta := append(binary.AppendUvarint([]byte{0x01}, 1<<32), bytes.Repeat([]byte{0x90, 0x01}, 4)...) // copy the byte again and again
	text = append(text, base...)
	text = append(text, 0x60|byte(len(delta)), byte(len(base))) // a delta to what came right before
	text = append(text, packed(delta)...)
	sum := sha1.Sum(text)
	return append(text, sum[:]...)
}
