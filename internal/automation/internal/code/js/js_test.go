package js_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"atelier/internal/automation/internal/code/codetest"
	"atelier/internal/automation/internal/code/js"
	"atelier/internal/automation/internal/code/wire"
	"atelier/internal/clock"
)

const noon = 1773576000000 // 2026-03-15T12:00:00Z

func machine(t testing.TB, functions ...wire.Function) *js.VM {
	t.Helper()
	compiled, err := js.Compile()
	if err != nil {
		t.Fatal(err)
	}
	vm, err := js.New(compiled, clock.System{}, js.Limits{Heap: 32 << 20, Output: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := vm.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := vm.Replace(functions); err != nil {
		t.Fatal(err)
	}
	return vm
}

func inline(vm *js.VM, code, parameters string) js.Outcome {
	if parameters == "" {
		parameters = "{}"
	}
	return vm.Run(js.Call{Code: code, Parameters: []byte(parameters), Now: noon, Limit: 5 * time.Second})
}

func said(out js.Outcome) string {
	if out.Err != nil {
		return fmt.Sprintf("%s: %s: %s", out.Err.Kind, out.Err.Name, out.Err.Message)
	}
	if out.Result == nil {
		return "undefined"
	}
	return string(out.Result)
}

// What code gives back, with what it finds in the machine.
func TestResults(t *testing.T) {
	if codetest.Elsewhere(t, racing) {
		return
	}
	t.Parallel()
	for _, c := range []struct{ code, parameters, want string }{
		{"return a + b", `{"a":1,"b":2}`, "3"},
		{"", "", "undefined"},
		{"return null", "", "null"},
		{"return {b:1, a:[undefined, NaN, new Date(0)], u: undefined}", "", `{"b":1,"a":[null,null,"1970-01-01T00:00:00.000Z"]}`},
		{"return await Promise.all([1, Promise.resolve(2)])", "", "[1,2]"},
		{"const a = {}; a.a = a; return a", "", "thrown: TypeError: circular reference"},
		{"return 1n", "", "thrown: TypeError: "},
		{"throw new RangeError('no')", "", "thrown: RangeError: no"},
		{"throw {code: 1}", "", "thrown: : { code: 1 }"},
		{"throw 'text'", "", "thrown: : text"},
		{"return Promise.reject(new Error('later'))", "", "thrown: Error: later"},
		{"return (", "", "thrown: SyntaxError: "},
		{"}); (function () {", "", "thrown: SyntaxError: "},
		{"return await new Promise(() => {})", "", "stuck: : it waits for something that never happens"},
		{"return [Date.now(), new Date().toISOString().slice(0, 16), new Date(5).getTime(), new Date() instanceof Date]", "", "["},
		{"return new Date().toISOString().slice(0, 16)", "", `"2026-03-15T12:00"`},
		{"return await new Promise(r => setTimeout(r, 5, 'late'))", "", `"late"`},
		{"let n = 0; await new Promise(r => { const i = setInterval(() => { if (++n == 3) { clearInterval(i); r() } }, 1) }); return n", "", "3"},
		{"setTimeout(() => { throw new Error('in a timer') }, 1); await new Promise(() => {})", "", "thrown: Error: in a timer"},
		{"return 'x'.repeat(2 << 20)", "", "output: RangeError: the result is too large"},
		{"return 'é'.repeat(600000)", "", "output: : the result is too large"},
		{"const r = Math.random(); return r >= 0 && r < 1", "", "true"},
		{"return typeof process + typeof fetch + typeof std + typeof os + typeof __host", "", `"undefinedundefinedundefinedundefinedundefined"`},
	} {
		if got := said(inline(machine(t), c.code, c.parameters)); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s\n gives %.300s, want %s", c.code, got, c.want)
		}
	}
}

// Modules do what those of Node do, as far as they go.
func TestModules(t *testing.T) {
	if codetest.Elsewhere(t, racing) {
		return
	}
	t.Parallel()
	for _, c := range []struct{ code, want string }{
		{"return require('crypto').createHash('sha256').update('a').update('bc').digest('hex')", `"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"`},
		{"return require('node:crypto').createHash('md5').update('héllo').digest('base64')", `"vlDoR4zyT/NZW8cwf7kbUA=="`},
		{"return require('crypto').createHmac('sha1', 'key').update('data').digest('hex')", `"104152c5bfdca07bc633eebd46199f0255c9f49d"`},
		{"return require('crypto').pbkdf2Sync('password', 'salt', 2, 20, 'sha1').toString('hex')", `"ea6c014dc72d6f8ccd1ed92ace1d41f0d8de8957"`},
		{"return require('crypto').createHash('nope')", `thrown: `},
		{"return /^[0-9a-f]{8}-[0-9a-f]{4}-4/.test(require('crypto').randomUUID()) && require('crypto').randomBytes(5).length", "5"},
		{"const n = require('crypto').randomInt(3, 5); return n === 3 || n === 4", "true"},
		{"const c = require('crypto'); return [c.timingSafeEqual(Buffer.from('a'), Buffer.from('a')), c.timingSafeEqual(Buffer.from('a'), Buffer.from('b'))]", "[true,false]"},
		{"return require('crypto').createCipheriv('aes')", "thrown: Error: crypto.createCipheriv is not available in custom code."},
		{"const z = require('zlib'); return [z.gunzipSync(z.gzipSync('héllo')).toString(), z.inflateSync(z.deflateSync('b')).toString(), z.inflateRawSync(z.deflateRawSync('c')).toString()]", `["héllo","b","c"]`},
		{"return new Promise((ok, no) => require('zlib').gunzip(Buffer.from('junk'), e => no(e)))", "thrown: "},
		{"const z = require('zlib'); let b = Buffer.alloc(3000000); const once = z.gzipSync(b); return z.gunzipSync(once).length", "3000000"},
		{"return Buffer.from('héllo').toString('hex')", `"68c3a96c6c6f"`},
		{"return Buffer.from('68c3a9zz', 'hex').toString()", `"hé"`},
		{"return [Buffer.from('aGk', 'base64').toString(), Buffer.from('_-8', 'base64url').toString('hex'), Buffer.from([255,239]).toString('base64url')]", `["hi","ffef","_-8"]`},
		{"return Buffer.from([0xff, 0x61]).toString()", `"` + "\ufffd" + `a"`},
		{"return Buffer.concat([Buffer.from('a'), Buffer.from('bc')]).equals(Buffer.from('abc'))", "true"},
		{"const b = Buffer.alloc(8); b.writeUInt32BE(0xdeadbeef, 0); b.writeInt16LE(-2, 4); return [b.readUInt32BE(0), b.readInt16LE(4), b.readUInt8(0)]", "[3735928559,-2,222]"},
		{"return Buffer.from('hi')", `{"type":"Buffer","data":[104,105]}`},
		{"return [Buffer.byteLength('é'), Buffer.from('abcabc').indexOf('ca'), Buffer.from('abc').includes('x'), Buffer.isBuffer(Buffer.alloc(1))]", "[2,2,false,true]"},
		{"return Buffer.from('hi', 'utf16le').toString('utf16le')", `"hi"`},
		{"return [btoa('hi'), atob('aGk=')]", `["aGk=","hi"]`},
		{"return atob('*')", "thrown: InvalidCharacterError: "},
		{
			"const u = new URL('/b?x=1&y=a%20b#h', 'https://User:p@Example.com:443/a'); u.searchParams.append('z', 'é&'); return [u.href, u.host, u.origin, u.pathname, u.hash, u.searchParams.get('y'), JSON.stringify(u)]",
			`["https://User:p@example.com/b?x=1&y=a+b&z=%C3%A9%26#h","example.com","https://example.com","/b","#h","a b","\"https://User:p@example.com/b?x=1&y=a+b&z=%C3%A9%26#h\""]`,
		},
		{"return new URL('nope')", "thrown: TypeError: Invalid URL"},
		{"return [URL.canParse('x'), URL.canParse('http://x')]", "[false,true]"},
		{"const p = new URLSearchParams({a: '1 2', b: 'x'}); p.set('a', '3'); p.delete('b'); return [String(p), [...p], p.has('b')]", `["a=3",[["a","3"]],false]`},
		{"return require('url').parse('http://a.b/c?d=e', true).query", `{"d":"e"}`},
		{"const u = require('util'); return [u.format('%s is %d, %j', 'a', 1, {b: 2}, 'more'), u.inspect({a: [1, 'x']}), u.isDeepStrictEqual({a: [1]}, {a: [1]})]", `["a is 1, {\"b\":2} more","{ a: [ 1, 'x' ] }",true]`},
		{"return await require('util').promisify((a, f) => f(null, a + 1))(1)", "2"},
		{"return new TextDecoder().decode(new TextEncoder().encode('é€'))", `"é€"`},
		{"return new TextDecoder('utf-8', {fatal: true}).decode(new Uint8Array([255]))", "thrown: TypeError: "},
		{"const a = {d: new Date(1), m: new Map([[1, {x: 1}]])}; a.self = a; const b = structuredClone(a); return [b !== a, b.self === b, b.d.getTime(), b.m.get(1).x]", "[true,true,1,1]"},
		{"return (await import('crypto')).default.getHashes().length", "6"},
		{"return require('http')", `thrown: Error: The module "http" is not available: custom code has no network; use the instruction fetch`},
		{"return require('lodash')", `thrown: Error: The module "lodash" is not available: custom code can require buffer, crypto, url, util, zlib, and packages cannot be installed.`},
		{"return require('fs')", `thrown: Error: The module "fs" is not available`},
		{"return require('prelude')", `thrown: Error: The module "prelude" is not available`},
		{"return await import('/etc/passwd')", `thrown: Error: The module "/etc/passwd" is not available`},
	} {
		if got := said(inline(machine(t), c.code, "")); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s\n gives %.400s, want %s", c.code, got, c.want)
		}
	}
}

// Functions of the host take what they are given by code that nobody trusts, and say so when it is nothing for them.
func TestOddArguments(t *testing.T) {
	if codetest.Elsewhere(t, racing) {
		return
	}
	t.Parallel()
	for _, code := range []string{
		"return require('crypto').randomBytes(-1)", "return require('crypto').randomBytes(1e12)", "return require('crypto').randomBytes('x')",
		"return require('crypto').pbkdf2Sync('a', 'b', 1e12, 64, 'sha1')", "return require('crypto').pbkdf2Sync('a', 'b', 0, 64, 'sha1')",
		"return require('crypto').createHash({})", "return require('crypto').createHash('md5').update(5)", "return require('crypto').randomInt(5, 5)",
		"return require('zlib').gunzipSync(5)", "return require('zlib').inflateSync('')", "return Buffer.from(5)", "return Buffer.from('a', 'nope')",
		"return new URL({})", "return new TextDecoder('nope')", "return setTimeout('code')", "return structuredClone(() => 1)",
	} {
		if out := inline(machine(t), code, ""); out.Err == nil || out.Err.Kind != wire.KindThrown {
			t.Errorf("%s gives %s", code, said(out))
		}
	}
}

func TestCallsOfOneMachine(t *testing.T) {
	t.Parallel()
	vm := machine(t, wire.Function{Name: "f", Parameters: []string{"a"}, Code: "cache.n = (cache.n ?? 0) + a; console.log(cache.n); setTimeout(() => console.log('never'), 1); return cache.n"})
	for i := 1; i <= 3; i++ {
		out := vm.Run(js.Call{Function: "f", Parameters: []byte(`{"a":1}`), Now: noon, Limit: 5 * time.Second})
		if said(out) != fmt.Sprint(i) || fmt.Sprint(out.Logs) != fmt.Sprintf("[%d]", i) || vm.Broken() {
			t.Errorf("call %d: %s %v", i, said(out), out.Logs)
		}
	}
	if out := vm.Run(js.Call{Code: "for(;;);", Parameters: []byte("{}"), Now: noon, Limit: 50 * time.Millisecond}); out.Err == nil || out.Err.Kind != wire.KindTimeout || !vm.Broken() {
		t.Errorf("%s", said(out))
	}
}
