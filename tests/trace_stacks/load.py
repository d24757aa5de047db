"""Reads a file again and again."""


def load_config(path):
    with open(path) as file:
        return file.read()


def main():
    total = 0
    for _ in range(100000):
        total += len(load_config(__file__))
    print(total > 0)


if __name__ == "__main__":
    main()
