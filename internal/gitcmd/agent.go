package gitcmd

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/crypto/ssh/agent"
)

// keyAgent signs for an ssh process with a key that never leaves our memory: it answers on a socket in a folder that only
// we can open, and is gone together with it.
type keyAgent struct {
	folder, socket, knownHosts string
	listener                   net.Listener
	ring                       agent.Agent
	serving                    sync.WaitGroup
	mu                         sync.Mutex
	closed                     bool
	open                       map[net.Conn]bool
}

func startAgent(key any, known string) (*keyAgent, error) {
	ring := agent.NewKeyring()
	if err := ring.Add(agent.AddedKey{PrivateKey: key}); err != nil {
		return nil, errors.New("the key cannot be used") // not the error: it may describe the key
	}
	folder, err := privateFolder()
	if err != nil {
		return nil, err
	}
	a := &keyAgent{
		folder: folder, socket: filepath.Join(folder, "agent"), knownHosts: filepath.Join(folder, "known_hosts"),
		ring: ring, open: map[net.Conn]bool{},
	}
	err = os.WriteFile(a.knownHosts, []byte(known), 0o600)
	if err == nil {
		a.listener, err = new(net.ListenConfig).Listen(context.Background(), "unix", a.socket)
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(folder))
	}
	a.serving.Go(a.accept)
	return a, nil
}

// maxSocket is how long the path of a socket may be, with some room.
const maxSocket = 90

// privateFolder makes a folder that only we can open, not on a disk where that can be.
func privateFolder() (string, error) {
	var failed error
	for _, parent := range []string{"/dev/shm", os.TempDir(), "/tmp"} {
		folder, err := os.MkdirTemp(parent, "atelier-ssh-")
		switch {
		case err != nil:
			failed = errors.Join(failed, err)
		case len(folder) > maxSocket:
			failed = errors.Join(failed, os.Remove(folder), errors.New("the name of the folder for temporary files is too long"))
		default:
			return folder, nil
		}
	}
	return "", failed
}

func (a *keyAgent) accept() {
	for {
		conn, err := a.listener.Accept()
		if err != nil {
			return
		}
		if !a.keep(conn) {
			_ = conn.Close()
			return
		}
		a.serving.Go(func() {
			_ = agent.ServeAgent(a.ring, conn) // ends when the other side does
			a.drop(conn)
		})
	}
}

func (a *keyAgent) keep(conn net.Conn) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.open[conn] = true
	return !a.closed
}

func (a *keyAgent) drop(conn net.Conn) {
	_ = conn.Close()
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.open, conn)
}

// close ends the agent and forgets the key.
func (a *keyAgent) close() {
	_ = a.listener.Close()
	a.mu.Lock()
	a.closed = true
	for conn := range a.open {
		_ = conn.Close()
	}
	a.mu.Unlock()
	a.serving.Wait()
	_ = a.ring.RemoveAll()
	_ = os.RemoveAll(a.folder)
}
