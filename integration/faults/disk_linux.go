package main

import (
	"context"
	"errors"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// A disk is a folder whose files do not always take what is written.
type disk struct {
	errno  atomic.Uint32
	delay  atomic.Int64 // ns, of each write
	server *fuse.Server
}

// mountDisk shows the files below store at folder.
func mountDisk(store, folder string) (*disk, error) {
	d := &disk{}
	root, err := fs.NewLoopbackRoot(store)
	if err != nil {
		return nil, err
	}
	loopback, ok := root.(*fs.LoopbackNode)
	if !ok {
		return nil, syscall.ENOTSUP
	}
	top := &inode{LoopbackNode: loopback, disk: d}
	loopback.RootData.RootNode = top
	d.server, err = fs.Mount(folder, top, &fs.Options{MountOptions: fuse.MountOptions{DirectMount: true}})
	return d, err
}

func (d *disk) unmount() {
	d.becomes(nil, 0)
	_ = d.server.Unmount()
}

// becomes sets how operations that change something end, nil for well, and how long they take.
func (d *disk) becomes(err error, delay time.Duration) {
	var errno syscall.Errno
	errors.As(err, &errno)
	d.errno.Store(uint32(errno))
	d.delay.Store(int64(delay))
}

// fails waits, and returns how an operation that changes something ends.
func (d *disk) fails() syscall.Errno {
	time.Sleep(time.Duration(d.delay.Load()))
	return syscall.Errno(d.errno.Load())
}

// An inode is a file or folder of a disk.
type inode struct {
	*fs.LoopbackNode
	disk *disk
}

func (i *inode) WrapChild(_ context.Context, child fs.InodeEmbedder) fs.InodeEmbedder {
	if loopback, ok := child.(*fs.LoopbackNode); ok {
		return &inode{LoopbackNode: loopback, disk: i.disk}
	}
	return child
}

func (i *inode) Open(ctx context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	opened, fuseFlags, errno := i.LoopbackNode.Open(ctx, flags)
	return i.disk.wrap(opened), fuseFlags, errno
}

func (i *inode) Create(ctx context.Context, name string, flags, mode uint32, out *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	if errno := i.disk.fails(); errno != 0 {
		return nil, nil, 0, errno
	}
	child, created, fuseFlags, errno := i.LoopbackNode.Create(ctx, name, flags, mode, out)
	return child, i.disk.wrap(created), fuseFlags, errno
}

func (i *inode) Rename(ctx context.Context, name string, to fs.InodeEmbedder, newName string, flags uint32) syscall.Errno {
	if errno := i.disk.fails(); errno != 0 {
		return errno
	}
	if n, ok := to.(*inode); ok {
		to = n.LoopbackNode
	}
	return i.LoopbackNode.Rename(ctx, name, to, newName, flags)
}

// An openFile is what a loopback file can do, but to hand its descriptor to the kernel, which would
// not ask any more.
type openFile interface {
	fs.FileReader
	fs.FileWriter
	fs.FileFlusher
	fs.FileFsyncer
	fs.FileReleaser
	fs.FileGetattrer
	fs.FileSetattrer
	fs.FileAllocater
	fs.FileLseeker
}

// A file is one of a disk.
type file struct {
	openFile
	disk *disk
}

func (d *disk) wrap(f fs.FileHandle) fs.FileHandle {
	if opened, ok := f.(openFile); ok {
		return &file{opened, d}
	}
	return f
}

func (f *file) Write(ctx context.Context, data []byte, off int64) (uint32, syscall.Errno) {
	if errno := f.disk.fails(); errno != 0 {
		return 0, errno
	}
	return f.openFile.Write(ctx, data, off)
}

func (f *file) Fsync(ctx context.Context, flags uint32) syscall.Errno {
	if errno := f.disk.fails(); errno != 0 {
		return errno
	}
	return f.openFile.Fsync(ctx, flags)
}
