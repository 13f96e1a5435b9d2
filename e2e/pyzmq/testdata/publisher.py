"""An engine's event sockets in Python: pyzmq's PUB and ROUTER, msgpack batches, and a
prefix cache that changes at random. It is told what to do on stdin, one JSON object a
line, and answers each with one on stdout.

The wire is that of fixtures/README.md section 2: topic, sequence, payload; replays of
[empty, topic, sequence, payload] or, before vLLM 0.26.0, without the topic.
"""

import argparse
import json
import random
import struct
import sys
import threading
import time

import msgpack
import zmq

BLOCK = 4
END = b"\xff" * 8


class Cache:
    """Blocks by hash; each knows its parent and tokens. Paths are tokens from a root."""

    def __init__(self, rng):
        self.rng = rng
        self.blocks = {}  # hash -> (parent hash or None, tokens)
        self.paths = {}  # tokens of a whole path -> hashes of its blocks
        self.order = []  # paths as they came

    def name(self, path):
        return self.paths.get(path, (None,))[-1] if path else None

    def store(self):
        """Extends a random held path, or begins one, by up to eight blocks."""
        path = self.rng.choice(self.order[-200:]) if self.order and self.rng.random() < 0.6 else ()
        if not all(h in self.blocks for h in self.paths.get(path, ())):
            path = ()
        parent, hashes, tokens = self.name(path), [], []
        known = list(self.paths.get(path, ()))
        for _ in range(self.rng.randint(1, 8)):
            block = [self.rng.randrange(150_000) for _ in range(BLOCK)]
            name = self.rng.getrandbits(64)
            self.blocks[name] = (known[-1] if known else None, block)
            known.append(name)
            path = path + tuple(block)
            self.paths[path] = tuple(known)
            self.order.append(path)
            hashes.append(name)
            tokens += block
        return {"type": "BlockStored", "block_hashes": hashes, "parent_block_hash": parent,
                "token_ids": tokens, "block_size": BLOCK, "lora_id": None, "medium": "GPU", "lora_name": None}

    def remove(self):
        """Removes a random leaf."""
        parents = {parent for parent, _ in self.blocks.values()}
        leaves = [h for h in self.blocks if h not in parents]
        gone = self.rng.sample(leaves, min(len(leaves), 3))
        for h in gone:
            del self.blocks[h]
        return {"type": "BlockRemoved", "block_hashes": gone, "medium": "GPU"}

    def clear(self):
        self.blocks.clear()
        return {"type": "AllBlocksCleared"}

    def truth(self, most):
        """Depths in blocks of paths that were ever stored, the last ones first."""
        out = []
        for path in self.order[max(len(self.order) - most, 0):]:
            hashes, depth = self.paths[path], 0
            while depth < len(hashes) and hashes[depth] in self.blocks:
                depth += 1
            out.append({"tokens": list(path) + [1], "depth": depth})
        return out


class Engine:
    def __init__(self, args):
        self.lock = threading.Lock()
        self.topic = args.topic.encode()
        self.arrays = args.arrays
        self.cache = Cache(random.Random(args.seed))
        self.buffer = []  # (sequence, payload)
        self.next = 0
        self.replay = {"form": 4, "delay": 0.0, "limit": 0, "mute": False}
        context = zmq.Context()
        self.pub = context.socket(zmq.PUB)
        self.pub.setsockopt(zmq.SNDHWM, 100_000)
        if args.heartbeat:
            self.pub.setsockopt(zmq.HEARTBEAT_IVL, 50)
            self.pub.setsockopt(zmq.HEARTBEAT_TIMEOUT, 300)
        self.pub.bind(f"tcp://127.0.0.1:{args.port or '*'}")
        self.router = context.socket(zmq.ROUTER)
        self.router.bind(f"tcp://127.0.0.1:{args.replay_port or '*'}")
        threading.Thread(target=self.serve_replays, daemon=True).start()

    def ports(self):
        return [int(s.getsockopt(zmq.LAST_ENDPOINT).decode().rstrip("\0").rsplit(":", 1)[1]) for s in (self.pub, self.router)]

    def publish(self, events, lose):
        if self.arrays:
            events = [self.array(e) for e in events]
        payload = msgpack.packb([time.time(), events, 0])
        with self.lock:
            seq, self.next = self.next, self.next + 1
            self.buffer.append((seq, payload))
        if not lose:
            self.pub.send_multipart((self.topic, struct.pack(">q", seq), payload))

    @staticmethod
    def array(event):
        fields = {"BlockStored": ["block_hashes", "parent_block_hash", "token_ids", "block_size", "lora_id", "medium", "lora_name"],
                  "BlockRemoved": ["block_hashes", "medium"], "AllBlocksCleared": []}
        return [event["type"]] + [event[f] for f in fields[event["type"]]]

    def step(self, lose):
        rng, events = self.cache.rng, []
        for _ in range(rng.randint(1, 4)):
            events.append(self.cache.store() if rng.random() < 0.7 or not self.cache.blocks else self.cache.remove())
        self.publish(events, lose)

    def serve_replays(self):
        while True:
            frames = self.router.recv_multipart()
            if len(frames) != 3:
                continue
            with self.lock:
                how = dict(self.replay)
                start = int.from_bytes(frames[2], "big")
                batches = [b for b in self.buffer if b[0] >= start]
            if how["mute"]:
                continue
            topic = (self.topic,) if how["form"] == 4 else ()
            for i, (seq, payload) in enumerate(batches):
                if how["limit"] and i == how["limit"]:
                    break
                time.sleep(how["delay"])
                self.router.send_multipart((frames[0], b"") + topic + (struct.pack(">q", seq), payload))
            else:
                self.router.send_multipart((frames[0], b"") + tuple(b"" for _ in topic) + (END, b""))

    def do(self, command):
        what = command["do"]
        if what == "steps":
            for _ in range(command["n"]):
                self.step(command.get("lose", False))
        elif what == "bulk":  # batches that say nothing, at length
            for _ in range(command["n"]):
                self.publish([{"type": "BlockRemoved", "block_hashes": list(range(2**40, 2**40 + 300)), "medium": "GPU"}], True)
        elif what == "clear":
            self.publish([self.cache.clear()], command.get("lose", False))
        elif what == "replays":
            with self.lock:
                self.replay.update(command["how"])
        elif what == "forget":
            with self.lock:
                self.buffer = self.buffer[len(self.buffer) - command["keep"]:]
        elif what == "send":
            self.pub.send_multipart([bytes.fromhex(f) for f in command["frames"]])
        elif what == "truth":
            return {"paths": self.cache.truth(command["most"]), "next": self.next}
        return {"next": self.next}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--replay-port", type=int, default=0)
    parser.add_argument("--topic", default="kv-events")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--arrays", action="store_true")
    parser.add_argument("--heartbeat", action="store_true")
    engine = Engine(parser.parse_args())
    print(json.dumps({"ports": engine.ports(), "pyzmq": zmq.__version__}), flush=True)
    for line in sys.stdin:
        print(json.dumps(engine.do(json.loads(line))), flush=True)


main()
