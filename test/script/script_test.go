// Package script_test tells stories about the real program: testdata/*.txtar, one file a story. The commands of a story
// beside those of testscript are in the table below.
package script_test

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"atelier/test/internal/server"
)

var update = flag.Bool("update", false, "rewrite the expected texts inside the stories")

// patience is how long a story waits for something before it fails: long, for a busy machine must not fail it.
const patience = time.Minute

func TestStories(t *testing.T) {
	program, err := server.Build(t.Context(), t.TempDir(), true)
	if err != nil {
		t.Fatal(err)
	}
	repository, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                "testdata",
		UpdateScripts:      *update,
		RequireUniqueNames: true,
		Setup:              func(env *testscript.Env) error { return setup(env, program, repository) },
		Condition:          provided,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"start":      start,      // start NAME [ARGUMENT...]         runs atelier serve; its output goes to NAME.out and NAME.err
			"waitready":  waitReady,  // waitready NAME [URL]             waits until it is ready
			"signal":     sendSignal, // signal NAME TERM|INT|KILL        sends it a signal
			"waitexit":   waitExit,   // waitexit NAME CODE               waits for its end, and shows its output
			"exits":      exits,      // exits CODE PROGRAM [ARGUMENT...] runs a program that must end with the code
			"http":       request,    // http [-H HEADER]... [-hold NAME] METHOD URL [BODY]   shows status, headers and body; @FILE is a body too
			"finish":     finish,     // finish NAME                      sends the rest of a held request and shows its answer
			"waitstatus": waitStatus, // waitstatus [-H HEADER]... [-body REGEXP] [-within DURATION] CODE URL   asks until it is answered like that; CODE refused: until nobody listens
			"json":       jsonValue,  // json NAME PATH                   puts a value of the last answer into a variable
			"login":      login,      // login NAME URL EMAIL PASSWORD    puts a token into a variable
			"capture":    capture,    // capture NAME REGEXP FILE         puts the first group of a match into a variable
			"flip":       flip,       // flip FILE                        changes one byte in the middle of a file
			"writer":     writer,     // writer start URL TOKEN | writer acked FILE | writer stop   makes workspaces all the time
			"present":    present,    // present FILE URL TOKEN           every workspace that the file names exists
			"occupy":     occupy,     // occupy PORT                      listens there until the story ends
		},
	})
}

// setup gives every story two ports of its own, and an environment in which the program is called atelier.
func setup(env *testscript.Env, program, repository string) error {
	for _, name := range []string{"", "2"} {
		port, err := server.FreePort(context.Background())
		if err != nil {
			return err
		}
		env.Setenv("PORT"+name, port)
		env.Setenv("URL"+name, "http://127.0.0.1:"+port)
	}
	env.Setenv("HOST", "127.0.0.1")
	env.Setenv("PATH", filepath.Dir(program)+string(os.PathListSeparator)+env.Getenv("PATH"))
	env.Setenv("ATELIER", program)
	env.Setenv("REPOSITORY", repository)
	env.Setenv("GORACE", "exitcode=66 atexit_sleep_ms=10")
	for _, name := range []string{"TEST_POSTGRES_URL", "TEST_REDIS_URL"} {
		env.Setenv(name, os.Getenv(name))
	}
	w := &world{program: program, servers: map[string]*running{}, held: map[string]*heldRequest{}}
	env.Values[worldKey{}] = w
	env.Defer(w.end)
	return nil
}

// provided knows the conditions of stories: that a server for tests is there.
func provided(condition string) (bool, error) {
	return os.Getenv(map[string]string{"postgres": "TEST_POSTGRES_URL", "redis": "TEST_REDIS_URL"}[condition]) != "", nil
}

// world is what a story has set in motion.
type world struct {
	program string
	servers map[string]*running
	held    map[string]*heldRequest
	writer  *load
	last    []byte // the body of the last answer
	cleanup []func()
}

type worldKey struct{}

func worldOf(ts *testscript.TestScript) *world { return ts.Value(worldKey{}).(*world) }

func (w *world) end() {
	if w.writer != nil {
		w.writer.stop()
	}
	for _, held := range w.held {
		_ = held.conn.Close()
	}
	for _, s := range w.servers {
		s.process.Kill()
	}
	for _, clean := range w.cleanup {
		clean()
	}
}

func patiently() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), patience)
}

// usage fails a story that calls a command wrongly.
func usage(ts *testscript.TestScript, ok bool, text string) {
	if !ok {
		ts.Fatalf("usage: %s", text)
	}
}
