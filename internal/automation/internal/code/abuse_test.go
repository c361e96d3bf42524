package code_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"atelier/internal/automation/internal/code"
	"atelier/internal/automation/internal/code/codetest"
	"atelier/internal/automation/internal/machine"
	"atelier/internal/clock"
)

// Code that never ends, or wants all memory, costs itself and nobody else: it fails in time, and the next call works.
func TestBombs(t *testing.T) {
	if codetest.Elsewhere(t, racing) {
		return
	}
	t.Parallel()
	const ended = machine.Timeout
	either := []string{code.Failed, ended}
	for name, bomb := range map[string]struct {
		code string
		want []string
	}{
		"endless loop":       {"for(;;);", []string{ended}},
		"recursion":          {"function f(){ return f() + 1 } return f()", []string{code.Failed}},
		"recursive getters":  {"const o = { get a() { return this.a } }; return o.a", []string{code.Failed}},
		"recursive proxy":    {"const p = new Proxy({}, { get: (t, k, r) => r[k] }); return p.x", []string{code.Failed}},
		"promise loop":       {"for(;;) await 0", []string{ended}},
		"forgotten promises": {"(async () => { for(;;) await 0 })(); return 1", []string{ended}},
		"then loop":          {"const f = () => Promise.resolve().then(f); return f()", either},
		"generator":          {"function* g(){ for(;;) yield 1 } return [...g()]", either},
		"timers":             {"const f = () => setTimeout(f, 0); f(); await new Promise(() => {})", []string{ended}},
		"many timers":        {"for(;;) setTimeout(() => {}, 1e9)", []string{code.Failed}},
		"sleep":              {"await new Promise(r => setTimeout(r, 1e9))", []string{ended}},
		"huge list":          {"return new Array(1e9).fill(0)", either},
		"longest list":       {"return new Array(4294967295).fill(0)", either},
		"string doubling":    {"let s = 'x'; for(;;) s += s", either},
		"string repeat":      {"return 'x'.repeat(512 * 1024 * 1024).length", either},
		"backreferences":     {`return /^(a+)+\1$/.test('a'.repeat(40) + 'b')`, either},
		"big numbers":        {"return (2n ** 4000000n).toString().length", either},
		"json bomb":          {"return JSON.parse('['.repeat(1e6) + ']'.repeat(1e6))", either},
		"deep result":        {"let a = []; for (let i = 0; i < 5000; i++) a = [a]; return a", either},
		"wide result":        {"return Array.from({length: 1e6}, () => 'xxxxxxxx')", either},
		"large result":       {"return 'x'.repeat(3 << 20)", []string{code.Failed}},
		"endless toJSON":     {"return { toJSON() { for(;;); } }", []string{ended}},
		"endless message":    {"throw { get message() { for(;;); } }", []string{ended}},
		"endless then":       {"return { then(r) { r(this) } }", either},
		"source map":         {"return (;\n//# sourceMappingURL=/etc/passwd", []string{code.Failed}},
		"sort":               {"return [...'x'.repeat(5e6)].sort(() => 1).length", either},
		"typed arrays":       {"const all = []; for(;;) all.push(new Uint8Array(1 << 20))", []string{code.Failed}},
		"unzip bomb":         {"const z = require('zlib'); let b = z.gzipSync(Buffer.alloc(8 << 20)); for (;;) { b = z.gunzipSync(b) }", either},
		"hash":               {"const c = require('crypto'); for(;;) c.pbkdf2Sync('a', 'b', 100000, 64, 'sha512')", []string{ended}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			limits := code.Limits{Time: time.Second, Heap: 32 << 20, Spares: 1}
			if !slices.Contains(bomb.want, ended) {
				limits.Time = 20 * time.Second // on a machine that is busy, code that works for long gets little of it
			}
			c := room(t, limits)
			began := clock.System{}.Now()
			_, err := inline(t, c, "a", bomb.code)
			failure := failureOf(t, err)
			if !slices.Contains(bomb.want, failure.Name) || len(failure.Message) > 5000 {
				t.Errorf("%.300v, want %v", failure, bomb.want)
			}
			if took := (clock.System{}).Now().Sub(began); took > limits.Time+10*time.Second { // the machine may be busy
				t.Errorf("it took %s", took)
			}
			if got, err := inline(t, c, "a", "return 7"); err != nil || got != 7.0 {
				t.Errorf("the next call gives %v %v", got, err)
			}
		})
	}
}

// One that was interrupted leaves nothing running in the machine that lives on.
func TestAfterATimeout(t *testing.T) {
	if codetest.Elsewhere(t, racing) {
		return
	}
	t.Parallel()
	c := room(t, code.Limits{Time: 300 * time.Millisecond, Spares: 1})
	defined := functions("loop()", "console.log('before'); for(;;);", "ok()", "return 'ok'")
	for range 2 {
		_, err := c.Run(t.Context(), code.Call{WorkspaceID: "a", Functions: defined, Function: "loop"})
		failure := failureOf(t, err)
		if details := fmt.Sprint(failure.Details); failure.Name != machine.Timeout || !strings.Contains(details, "before") {
			t.Errorf("%v %s", failure, details)
		}
		if answer, err := c.Run(t.Context(), code.Call{WorkspaceID: "a", Functions: defined, Function: "ok"}); err != nil || answer.Result != "ok" {
			t.Errorf("%v %v", answer, err)
		}
	}
}

// More is logged than there is room for: the rest is left out.
func TestLogsAreBounded(t *testing.T) {
	if codetest.Elsewhere(t, racing) {
		return
	}
	t.Parallel()
	c := room(t, code.Limits{})
	for _, text := range []string{"for (let i = 0; i < 100000; i++) console.log(i)", "for (let i = 0; i < 1000; i++) console.log('x'.repeat(1e6))"} {
		answer, err := c.Run(t.Context(), code.Call{WorkspaceID: "a", Code: text})
		if err != nil || len(answer.Logs) > 1001 || len(strings.Join(answer.Logs, "")) > 300<<10 {
			t.Errorf("%d lines, %v", len(answer.Logs), err)
		}
	}
}

// There is nothing to be reached from JavaScript.
func TestEscapes(t *testing.T) {
	if codetest.Elsewhere(t, racing) {
		return
	}
	t.Parallel()
	c := room(t, code.Limits{})
	for _, text := range []string{
		"return this.constructor.constructor('return process')().env",
		"return this.constructor.constructor('return typeof process + typeof std + typeof os + typeof scriptArgs')()",
		"return Function('return globalThis')().process?.env ?? 'none'",
		"return (async () => {}).constructor('return process.env')()",
		"Error.prepareStackTrace = (e, frames) => frames; return new Error('x').stack",
		"const e = new Error(); e.stack = { toString() { return 'x' } }; throw e",
		"throw { get name() { throw 1 }, get message() { throw 2 } }",
		"return require('fs')", "return require('child_process')", "return require('/etc/passwd')", "return require('../source/prelude')",
		"return await import('fs')", "return await import('/proc/self/environ')", "return await import('file:///etc/passwd')",
		"return typeof WebAssembly", "return new SharedArrayBuffer(8).byteLength + Atomics.wait(new Int32Array(new SharedArrayBuffer(8)), 0, 0)",
		"return __host('source', 'x')", "return globalThis.__host", "return Object.getOwnPropertyNames(globalThis).join()",
		"return Reflect.ownKeys(require).concat(String(require)).join()", "return arguments.callee.caller",
		"return require.constructor('return this')().process", "return console.log.constructor('return host')()",
		"return new Proxy(require, {}).call(null, 'process')", "return eval('host')", "return (0, eval)('operations')",
		"Object.prototype.kind = 'polluted'; Array.prototype.push = () => {}; JSON.stringify = () => 'fake'; Promise.prototype.then = null; return 1",
		"Object.defineProperty(Object.prototype, 'then', { get() { return undefined } }); return {}",
		"return String(import.meta)",
	} {
		got, err := inline(t, c, "a", text)
		shown := fmt.Sprint(show(got), err)
		if err != nil {
			shown += fmt.Sprint(failureOf(t, err).Details)
		}
		for _, leak := range []string{canary, "root:", "PATH=", "HOME=", "/work/", ".go:", "goroutine", "prelude.js"} {
			if strings.Contains(shown, leak) {
				t.Errorf("%s\nshows %q: %s", text, leak, shown)
			}
		}
		if got, err := inline(t, c, "a", "return [kind(), [1].concat(2).length]; function kind() { return typeof ({}).kind }"); err != nil || show(got) != `["undefined",2]` {
			t.Fatalf("after %s: %v %v", text, got, err)
		}
	}
}

// A process that dies takes its own call with it, and no other one.
func TestKilledWorker(t *testing.T) {
	onLinux(t)
	t.Parallel()
	c := room(t, code.Limits{Processes: 4, Spares: 1})
	if _, err := inline(t, c, "victim", "return 1"); err != nil {
		t.Fatal(err)
	}
	var calls sync.WaitGroup
	calls.Go(func() {
		_, err := inline(t, c, "victim", "await new Promise(r => setTimeout(r, 15000))")
		if failure := failureOf(t, err); failure.Name != code.Failed || !strings.Contains(failure.Message, "brought its process down") {
			t.Errorf("%v", failure)
		}
	})
	calls.Go(func() {
		if got, err := inline(t, c, "bystander", "await new Promise(r => setTimeout(r, 1000)); return 'alive'"); err != nil || got != "alive" {
			t.Errorf("%v %v", got, err)
		}
	})
	until(t, "both run", func() bool { return c.Busy("victim") == 1 && c.Busy("bystander") == 1 })
	workers := c.Processes("victim")
	if len(workers) != 1 {
		t.Fatalf("%v", workers)
	}
	if err := syscall.Kill(workers[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	calls.Wait()
	if got, err := inline(t, c, "victim", "return 2"); err != nil || got != 2.0 {
		t.Errorf("%v %v", got, err)
	}
}

// A worker gets nothing of this process but its pipes: no environment, and no file that happens to be open.
func TestNothingIsInherited(t *testing.T) {
	onLinux(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if _, _, errno := syscall.Syscall(syscall.SYS_FCNTL, r.Fd(), syscall.F_SETFD, 0); errno != 0 {
		t.Fatal(errno) // whoever starts us may leave us such files
	}
	c := room(t, code.Limits{})
	if _, err := inline(t, c, "a", "return 1"); err != nil {
		t.Fatal(err)
	}
	for _, pid := range c.Processes("a") {
		of := filepath.Join("/proc", fmt.Sprint(pid))
		environment, err := os.ReadFile(filepath.Join(of, "environ"))
		if err != nil || len(environment) > 0 {
			t.Errorf("%q %v", environment, err)
		}
		files, err := os.ReadDir(filepath.Join(of, "fd"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			target, err := os.Readlink(filepath.Join(of, "fd", file.Name()))
			own := strings.HasPrefix(target, "anon_inode:") || strings.Contains(target, "cpu.") // what the runtime of Go opens
			if standard := len(file.Name()) == 1 && file.Name() <= "2"; err == nil && !standard && !own {
				t.Errorf("file %s is %s", file.Name(), target)
			}
		}
	}
}
