class Module:
    def eval(self):
        return self

    def to(self, device, dtype=None):
        assert device == "cuda"
        return self

    def __call__(self, **arguments):
        return self.forward(**arguments)
