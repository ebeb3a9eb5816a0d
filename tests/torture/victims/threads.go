// SPDX-License-Identifier: GPL-3.0-or-later
// threads: Go, whose runtime has its own stacks and its own SIGURG.
package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

var over, wrong int32

func compute() {
	for atomic.LoadInt32(&over) == 0 {
		sum := 0
		for i := 0; i < 100000; i++ {
			sum += i % 7
		}
		if sum != 299995 {
			atomic.AddInt32(&wrong, 1)
		}
	}
}

func nap() {
	for atomic.LoadInt32(&over) == 0 {
		since := time.Now()
		time.Sleep(5 * time.Millisecond)
		if time.Since(since) < 5*time.Millisecond {
			atomic.AddInt32(&wrong, 1)
		}
	}
}

func talk() {
	a, b := net.Pipe()
	go func() { _, _ = io.Copy(b, b) }()
	for i := byte(0); atomic.LoadInt32(&over) == 0; i++ {
		got := []byte{0}
		_, _ = a.Write([]byte{i})
		if _, err := io.ReadFull(a, got); err != nil || got[0] != i {
			atomic.AddInt32(&wrong, 1)
		}
	}
}

func main() {
	var all sync.WaitGroup
	for _, run := range []func(){compute, compute, nap, talk} {
		all.Add(1)
		go func(run func()) { run(); all.Done() }(run)
	}
	fmt.Println("ready", os.Getpid())
	_, _ = io.ReadAll(os.Stdin)
	atomic.StoreInt32(&over, 1)
	all.Wait()
	fmt.Println("eintr 0 wrong", wrong, "missed 0")
	if wrong != 0 {
		os.Exit(1)
	}
}
