package spawn

import (
	"encoding/json"
	"net"
	"os"
	"runtime"
	"syscall"
)

// lineFile is the number of the file that a nursery is spoken to through.
const lineFile = 3

// Serve starts processes until nobody asks for them any more, and gives the exit code. All that it has started end with it, also those
// that are stopped: the system sees to that when the thread ends that has started them, which is this one.
func Serve() int {
	runtime.LockOSThread()
	KeepFiles()
	file := os.NewFile(lineFile, "line")
	line, err := unixConn(file)
	if err != nil {
		return 1
	}
	_ = file.Close()
	buffer, rights := make([]byte, mostOrder), make([]byte, syscall.CmsgSpace(2*4)) // two files
	for {
		size, more, _, _, err := line.ReadMsgUnix(buffer, rights)
		if err != nil || size == 0 {
			return 0 // whoever started this process is gone
		}
		if !serve(line, buffer[:size], rights[:more]) {
			return 1
		}
	}
}

// serve does one order; false when it cannot be answered.
func serve(line *net.UnixConn, text, rights []byte) bool {
	files, err := received(rights)
	defer func() {
		for _, file := range files {
			_ = file.Close()
		}
	}()
	var o Order
	if err != nil || len(files) != 2 || json.Unmarshal(text, &o) != nil {
		return false
	}
	attr := attributes(o.Isolated)
	attr.Pdeathsig = syscall.SIGKILL
	child, err := o.start([]*os.File{files[0], files[1], nil}, attr)
	var said answer
	if err != nil {
		said.Error = err.Error()
	} else {
		said.PID = child.Pid
	}
	reply, err := json.Marshal(said)
	if err != nil {
		return false
	}
	if _, err := line.Write(reply); err != nil {
		return false
	}
	if child == nil {
		return true
	}
	// Until whoever asked knows the process its number must not become that of another one.
	if _, err := line.Read(make([]byte, 1)); err != nil {
		return false
	}
	go func() { _, _ = child.Wait() }() // it ends before this process, or with it
	return true
}

// received gives the files that came with a message.
func received(rights []byte) ([]*os.File, error) {
	messages, err := syscall.ParseSocketControlMessage(rights)
	if err != nil {
		return nil, err
	}
	var files []*os.File
	for i := range messages {
		numbers, err := syscall.ParseUnixRights(&messages[i])
		if err != nil {
			return files, err
		}
		for _, number := range numbers {
			files = append(files, os.NewFile(uintptr(number), "pipe"))
		}
	}
	return files, nil
}
