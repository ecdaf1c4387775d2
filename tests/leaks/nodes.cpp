// C++ programs that leak, or do not: nodes NAME SECONDS.
#include <chrono>
#include <cstdlib>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

struct node {
    std::shared_ptr<node> other;
    char data[4096] = {1};
};

static void cycle() // two that hold each other are never freed
{
    auto a = std::make_shared<node>(), b = std::make_shared<node>();

    a->other = b;
    b->other = a;
}

static std::map<std::string, std::vector<char>> table;

static void step(const std::string &name, int i)
{
    if (name == "cycle")
        cycle();
    else if (name == "never_erased")
        table["request " + std::to_string(i)] = std::vector<char>(8000, 'x');
    else if (name == "erased") {
        table["request " + std::to_string(i)] = std::vector<char>(8000, 'x');
        table.erase("request " + std::to_string(i - 50));
    } else if (name == "containers") {
        std::list<std::string> words;

        for (int k = 0; k < 200 + i % 50; k++)
            words.push_back(std::string(100, 'y'));
    }
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < 1000; i++) {
        std::this_thread::sleep_until(begin +
                                      std::chrono::duration<double>(std::atof(argv[2]) * i / 1000));
        step(argv[1], i);
    }
    return 0; // the table is still there; it is destroyed after main
}
