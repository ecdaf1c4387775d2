"""Small Python programs that leak, or do not: programs.py NAME SECONDS."""
import gc
import functools
import mmap
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time

STEPS = 400


def steps():
    begin = time.monotonic()
    for i in range(STEPS):
        rest = begin + SECONDS * i / STEPS - time.monotonic()
        if rest > 0:
            time.sleep(rest)
        yield i


# ---- what leaks ----

def list_kept():
    kept = []
    for _ in steps():
        kept.append(bytearray(100_000))


def small_objects():
    kept = {}
    for i in steps():
        kept[i] = [{"step": i, "at": k} for k in range(30)]


def handlers():  # each registers itself and is never taken out
    called = []
    for _ in steps():
        data = list(range(2000))
        called.append(lambda data=data: len(data))


def late_leak():
    kept = []
    for i in steps():
        data = bytearray(150_000)
        if i > STEPS // 2:
            kept.append(data)


def files_kept():
    kept = []
    for i in steps():
        if i % 5 == 0:
            kept.append(open("/dev/null", "rb"))


def sockets_kept():
    kept = []
    for i in steps():
        if i % 8 == 0:
            kept.append(socket.socket())


def threads_kept():
    threading.stack_size(256 * 1024)
    never = threading.Event()
    for i in steps():
        if i % 10 == 0:
            threading.Thread(target=never.wait, daemon=True).start()
    os._exit(0)


def arrays_kept():
    import numpy
    kept = []
    for _ in steps():
        kept.append(numpy.ones(20_000))


def epoch_history():
    history = []
    for i in steps():
        batch = [float(k) for k in range(5000)]
        if i % 20 == 19:
            history.append([batch, bytearray(500_000)])


# ---- what leaks, in too few steps for a verdict ----

def few_steps(n):
    begin = time.monotonic()
    for i in range(n):
        time.sleep(max(0, begin + SECONDS * (i + 0.5) / n - time.monotonic()))
        yield i
    time.sleep(max(0, begin + SECONDS - time.monotonic()))


def few_files():
    kept = []
    for _ in few_steps(15):
        kept.append(open("/dev/null", "rb"))


def few_threads():
    never = threading.Event()
    for _ in few_steps(20):
        threading.Thread(target=never.wait, daemon=True).start()
    os._exit(0)


def few_epochs():
    kept = []
    for _ in few_steps(4):
        kept.append(bytearray(5_000_000))


def few_epochs_dropped():  # and does not: each takes the place of the one before
    kept = None
    for _ in few_steps(4):
        kept = bytearray(5_000_000)
    return kept


# ---- what does not ----

def list_cleared():
    kept = []
    for i in steps():
        kept.append(bytearray(200_000))
        if i % 40 == 39:
            kept.clear()


@functools.lru_cache(maxsize=100)
def cached(key):
    return bytearray(100_000)


def cache_bounded():
    for i in steps():
        cached(i)


def cache_fills():
    kept = {}
    for i in steps():
        kept.setdefault(i % 120, bytearray(100_000))


def cycles():
    class Node:
        pass
    gc.set_threshold(300, 5, 5)
    for _ in steps():
        for _ in range(20):
            a, b = Node(), Node()
            a.other, b.other, a.data = b, a, bytearray(1000)


def temporary():
    for i in steps():
        sum([k * k for k in range(4000 + i % 7)])


def files_closed():
    for _ in steps():
        with open("/proc/self/status", "rb") as f:
            f.read()


def children():
    for i in steps():
        if i % 20 == 0:
            subprocess.run(["/bin/true"], check=True)


def threads_joined():
    for i in steps():
        if i % 5 == 0:
            crew = [threading.Thread(target=time.sleep, args=(0.001,)) for _ in range(4)]
            for one in crew:
                one.start()
            for one in crew:
                one.join()


def arrays_reused():
    import numpy
    out = numpy.zeros((300, 300))
    for _ in steps():
        a = numpy.ones((300, 300))
        numpy.add(a, a, out=out)


def weights_mapped():
    with tempfile.TemporaryFile() as f:
        part = 128 * 1024
        f.truncate(STEPS * part)
        m = mmap.mmap(f.fileno(), 0)
        for i in steps():
            m[i * part:(i + 1) * part] = bytes(part)


def queue_bounded():
    from collections import deque
    last = deque(maxlen=50)
    for _ in steps():
        last.append(bytearray(80_000))


# ---- with torch ----

def torch_graph_kept():
    import torch
    torch.set_num_threads(1)
    model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 1))
    losses = []
    for _ in steps():
        loss = model(torch.randn(32, 256)).pow(2).mean()
        losses.append(loss)  # and its graph


def torch_training():
    import torch
    torch.set_num_threads(1)
    model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 1))
    optimizer = torch.optim.Adam(model.parameters())
    losses = []
    for _ in steps():
        loss = model(torch.randn(32, 256)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())


def torch_loader():
    import torch
    from torch.utils.data import DataLoader, TensorDataset
    torch.set_num_threads(1)
    data = TensorDataset(torch.randn(1600, 64), torch.randn(1600, 1))
    model = torch.nn.Linear(64, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    begin = time.monotonic()
    while time.monotonic() - begin < SECONDS:
        for x, y in DataLoader(data, batch_size=32, shuffle=True, num_workers=2):
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()
            time.sleep(0.005)


SECONDS = float(sys.argv[2])
globals()[sys.argv[1]]()
